//! `agentwire card lint`: which verifiers would refuse a card.

use agentwire_core::card::{Form, Lint, VERIFIERS};
use serde_json::{Value, json};

use super::args::LintArgs;
use super::{row, with_card};
use crate::exit::Failure;
use crate::inspect::verdict;
use crate::output::Output;
use crate::terminal::{DIM, NAME, escape, truncate, wrap};

pub(super) fn run(args: &LintArgs, output: &mut Output) -> Result<(), Failure> {
    let form = Form::from(args.form);
    with_card(&args.source, output, |card, output| {
        let lint = Lint::of(card)?;
        if output.is_json() {
            output.json(&as_json(&lint, form))?;
        } else {
            show(&lint, form, output)?;
        }
        let good = lint.refusing(form).next().is_none()
            && lint.findings.is_empty()
            && lint.signatures.iter().all(|signature| *signature == Ok(true));
        Ok(verdict(good)?)
    })
}

/// Whether a verifier accepts a card that is signed in a form.
fn accepts(lint: &Lint, form: Form, name: &str) -> bool {
    lint.refusing(form).all(|verifier| verifier.name != name)
}

fn as_json(lint: &Lint, form: Form) -> Value {
    let findings: Vec<Value> = lint
        .findings
        .iter()
        .map(|finding| json!({"path": finding.path, "finding": finding.kind.to_string()}))
        .collect();
    let verifiers: Vec<Value> = VERIFIERS
        .iter()
        .map(|verifier| {
            json!({
                "name": verifier.name,
                "form": verifier.form.name(),
                "accepts": accepts(lint, form, verifier.name),
            })
        })
        .collect();
    let signatures: Vec<Value> = lint
        .signatures
        .iter()
        .map(|signature| match signature {
            Ok(typ) => json!({"typ": typ}),
            Err(refusal) => json!({"refused": refusal.to_string()}),
        })
        .collect();
    json!({
        "signed": form.name(),
        "findings": findings,
        "more": lint.more,
        "verifiers": verifiers,
        "signatures": signatures,
    })
}

fn show(lint: &Lint, form: Form, output: &mut Output) -> Result<(), Failure> {
    let terminal = output.terminal();
    let width = terminal.width();
    for finding in &lint.findings {
        let path = escape(&finding.path);
        output.line(terminal.paint(NAME, truncate(&path, width)))?;
        for line in wrap(&finding.kind.to_string(), width.saturating_sub(2)) {
            output.line(format_args!("  {line}"))?;
        }
    }
    if lint.more {
        output.line("and more of the kind")?;
    }
    for (index, signature) in lint.signatures.iter().enumerate() {
        match signature {
            Ok(true) => {}
            Ok(false) => {
                let about = format!("signature {index} has no typ: @a2a-js/sdk refuses it");
                row(output, "header", &about)?;
            }
            Err(refusal) => row(output, "header", &format!("signature {index}: {refusal}"))?,
        }
    }
    output.line(terminal.paint(DIM, format_args!("signed in the form {form}, the card is")))?;
    for verifier in VERIFIERS {
        let word = if accepts(lint, form, verifier.name) { "accepted" } else { "refused" };
        let by = format!("by {}, form {}", verifier.name, verifier.form);
        row(output, word, &by)?;
    }
    Ok(())
}
