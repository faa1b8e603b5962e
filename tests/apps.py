"""A whole app in a home of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread

from subcog.config.load import load_settings
from subcog.config.paths import find_paths
from subcog.pipeline.app.app import App
from tests.stores import put_empty_file


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[App]:
    """An app with its home in ``folder``, loaded. No fixture: its tasks end where they began."""
    env = {"HOME": str(folder), "SUBCOG_HOME": str(folder / "home")}
    paths = find_paths(env)
    await anyio.to_thread.run_sync(put_empty_file, paths.database)
    app = App(load_settings(paths.config_file, env).settings, paths)
    async with app.running():
        await app.load()
        try:
            yield app
        finally:
            await app.unload()
