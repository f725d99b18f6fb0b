//! Answers on their way to their callers.

use super::output::count;
use super::text::{at, own_key, push_compact, push_replaced};
use super::{Bridge, Call, CallId, Problem, Purpose, complete, server};
use crate::json::Value;
use crate::jsonrpc::ErrorResponse;
use crate::mcp::{Fault, Flaw, HEADER_MISMATCH, META_SUBSCRIPTION, Method};
use crate::time::Instant;

impl Bridge {
    /// Begins a call's idle time anew.
    pub(super) fn touch(&mut self, now: Instant, call: CallId) {
        let idle = self.config.idle_timeout;
        if let Some(entry) = self.calls.get_mut(&call) {
            entry.idle_until = now.saturating_add(idle);
        }
    }

    pub(super) fn answered(
        &mut self,
        now: Instant,
        exchange: Option<u64>,
        key: Option<u64>,
        outcome: Result<Value<'_>, &ErrorResponse<'_>>,
    ) {
        let Some(key) = key.filter(|key| exchange.is_none_or(|exchange| exchange == *key)) else {
            return count(&mut self.dropped.unknown);
        };
        let Some(purpose) = self.exchanges.remove(&key) else {
            let is_late = key != 0 && key < self.next_exchange;
            return count(if is_late { &mut self.dropped.late } else { &mut self.dropped.unknown });
        };
        match purpose {
            Purpose::Open => self.opened(now, Some(outcome)),
            Purpose::Call(call) => match outcome {
                Err(error) if error.code == HEADER_MISMATCH && self.may_refresh(call) => {
                    // The tool has changed: once more, with its schema as it is now.
                    self.lists.forget_tools();
                    self.dispatch(now, call);
                }
                _ => self.pass_answer(key, call, outcome),
            },
            Purpose::List(list) => match outcome {
                Ok(result) => self.collect(now, list, result),
                Err(error) => {
                    let waiters = self.fetches.remove(&list).map(|fetch| fetch.waiters);
                    for call in waiters.unwrap_or_default() {
                        if self.calls.get(&call).is_some_and(Call::is_tool_call) {
                            self.pass_on(call);
                        } else {
                            self.pass_answer(key, call, Err(error));
                        }
                    }
                }
            },
        }
    }

    /// Passes an answer on to its caller.
    fn pass_answer(
        &mut self,
        key: u64,
        call: CallId,
        outcome: Result<Value<'_>, &ErrorResponse<'_>>,
    ) {
        let Some(entry) = self.calls.get(&call) else { return };
        let asked = entry.asked;
        let mut text = alloc::format!("{{\"jsonrpc\":\"2.0\",\"id\":{}", entry.id);
        let result = match outcome {
            Err(error) => {
                text.push_str(",\"error\":");
                server::push_error(&mut text, error, self.server.is_legacy);
                text.push('}');
                return self.finish(call, text);
            }
            Ok(result) => result,
        };
        let Some(object) = result.as_object() else {
            return self.fail(call, Problem::InvalidAnswer(None));
        };
        text.push_str(",\"result\":");
        let from = text.len();
        if asked.revision.is_later() {
            push_compact(&mut text, object.get_text());
        } else if asked.method == Method::Discover {
            server::push_discovered(&mut text, object, self.config.subscriptions);
        } else if asked.method == Method::Listen {
            let path = ["_meta", META_SUBSCRIPTION];
            if at(object, &path).and_then(own_key) == Some(key) {
                push_replaced(&mut text, result, &path, &entry.id);
            } else {
                push_compact(&mut text, object.get_text());
            }
        } else {
            complete::push_completed(&mut text, asked.method, object);
        }
        text.push('}');
        let made = text.get(from..text.len().saturating_sub(1)).unwrap_or_default();
        let fault = Value::parse(made).ok().and_then(|made| {
            let wrong = asked.result(made).err()?;
            Some(wrong.in_text(&text))
        });
        match fault {
            Some(fault) if is_vital(&fault, &text) => {
                let path = alloc::format!("{}", fault.path(&text));
                self.fail(call, Problem::InvalidAnswer(Some((fault, path))));
            }
            Some(_) => {
                count(&mut self.dropped.faulty);
                self.finish(call, text);
            }
            None => self.finish(call, text),
        }
    }
}

/// Whether an answer with this fault would mislead its caller: one that is not what it says it is.
/// What is merely not as it should be, deep inside, is the server's to mend and the caller's to
/// judge.
fn is_vital(fault: &Fault, text: &str) -> bool {
    match fault.flaw {
        Flaw::ResultType
        | Flaw::InputNotAllowed
        | Flaw::Undeclared(_)
        | Flaw::MissingAny(_)
        | Flaw::Twice(_) => true,
        // A member of the result itself is missing, or of the wrong kind.
        Flaw::Missing(_) => fault.path(text).steps().count() <= 1,
        Flaw::Kind(_) => fault.path(text).steps().count() <= 2,
        _ => false,
    }
}
