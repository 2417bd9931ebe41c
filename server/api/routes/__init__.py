"""The routes by what they are about; each module declares some with `server.api.route`."""
