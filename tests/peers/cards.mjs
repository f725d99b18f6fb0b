// Signs and verifies Agent Cards with @a2a-js/sdk: the tasks are those of cards.py. The folder with
// node_modules is the first argument.

import { createPrivateKey, createPublicKey } from "node:crypto";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const sdk = createRequire(`${process.argv[2]}/`)("@a2a-js/sdk");
// The SDK says there why it refuses a signature.
console.debug = () => {};

const tasks = {
  async sign({ card, key, header }) {
    const signer = sdk.generateAgentCardSignature(createPrivateKey({ key, format: "jwk" }), header);
    const { signatures } = await signer({ ...card, signatures: card.signatures ?? [] });
    return { card: { ...card, signatures } };
  },

  async verify({ card, keys }) {
    const verifier = sdk.verifyAgentCardSignature(async (kid) => {
      if (!(kid in keys)) throw new Error(`no key ${kid}`);
      return createPublicKey({ key: keys[kid], format: "jwk" });
    });
    try {
      await verifier(card);
    } catch {
      return { verified: false };
    }
    return { verified: true };
  },

  async canonical({ card }) {
    return { canonical: sdk.canonicalizeAgentCard(card) };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const task = JSON.parse(line);
  console.log(JSON.stringify(await tasks[task.do](task)));
}
