"""Takes a task up that another process began, and prints the text of its result: python fresh.py URL REFERENCE"""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

import tasks
from steps import text


async def main(url: str, reference: str) -> None:
    tasks.named()
    async with Client(StreamableHttpTransport(url)) as client:
        print(text(await tasks.resume(client, reference).result()))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
