"""A bot as the documentation of PyPI simplex-chat-py shows one.

    python simplex_chat_bot.py PORT

It answers every message with "Re: " and its text, and writes a line of JSON about each thing that
happens: its user, what it has read, and what its reply came to.
"""

import asyncio
import json
import sys

from simplex_chat import SimplexBot


def tell(what: str, value: object) -> None:
    print(json.dumps({what: value}), flush=True)


async def main() -> None:
    bot = SimplexBot(host="127.0.0.1", port=int(sys.argv[1]))

    @bot.on_message
    async def answer(message) -> None:
        tell("read", {"text": message.text, "item": message.item_id, "group": message.is_group})
        tell("replied", await message.reply(f"Re: {message.text}"))

    await bot.start()
    client, user = bot.client, bot.user_id
    tell("profile", await client.update_profile(user, {"displayName": "bot", "fullName": "A bot"}))
    tell("contacts", await client.list_contacts(user))
    tell("groups", await client.list_groups(user))
    tell("address", await bot.setup_address())
    tell("settings", await client.send_cmd(f"/_show_address {user}"))
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await bot.stop()


asyncio.run(main())
