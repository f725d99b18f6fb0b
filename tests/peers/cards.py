"""Signs and verifies Agent Cards with a2a-sdk, one task of JSON a line.

{"do": "sign", "card": ..., "key": private JWK, "header": protected header} -> {"card": signed card}
{"do": "verify", "card": ..., "keys": {kid: public JWK}} -> {"verified": true or false}
{"do": "canonical", "card": ...} -> {"canonical": text}
"""

import json
import sys

from a2a.types import AgentCard
from a2a.utils import signing
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt.api_jwk import PyJWK
from jwt.exceptions import InvalidKeyError


def sign(task, card):
    signer = signing.create_agent_card_signer(PyJWK(task["key"], "ES256").key, task["header"])
    return {"card": MessageToDict(signer(card))}


def verify(task, card):
    def key(kid, jku):
        if kid not in task["keys"]:
            raise InvalidKeyError(kid)
        return PyJWK(task["keys"][kid], "ES256")

    try:
        signing.create_signature_verifier(key, ["ES256"])(card)
    except signing.SignatureVerificationError:
        return {"verified": False}
    return {"verified": True}


def canonical(task, card):
    return {"canonical": signing._canonicalize_agent_card(card)}


TASKS = {"sign": sign, "verify": verify, "canonical": canonical}

for line in sys.stdin:
    task = json.loads(line)
    card = ParseDict(task["card"], AgentCard(), ignore_unknown_fields=True)
    print(json.dumps(TASKS[task["do"]](task, card)), flush=True)
