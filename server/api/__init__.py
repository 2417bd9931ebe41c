"""The HTTP side: typed routes, what guards them, and the documents generated from them. aiohttp starts here."""
