"""The page Explore, and the server of all pages. Start the app with `streamlit run app.py`."""

import streamlit as st

if __name__ == "__main__":  # Streamlit runs this file as the page Explore
    from ui.explore import page

    page.show()
else:  # Streamlit imports this file once at its start, and takes the server `app` from it
    import sys
    import threading
    from importlib import import_module

    from starlette.middleware import Middleware

    from ui.server.browser_cookie import BrowserCookie
    from ui.server.front_end import FrontEnd
    from ui.server.guards import Guard
    from ui.server.host_names import HostNames, addresses
    from ui.server.limits import ServerLimits
    from ui.server.page_head import PageHead
    from ui.server.sessions import Sessions
    from ui.server.streamlit_patches import process
    from ui.server.uploads import Uploads

    try:
        limits = ServerLimits.of_environment()
    except ValueError as problem:
        sys.exit(str(problem))
    process.apply()
    print(addresses(), HostNames.of_config(), sep="\n", flush=True)

    is_loaded = threading.Event()

    def import_first_page() -> None:
        """Import the modules of the first page, which takes two seconds, while the browser starts."""
        try:
            import_module("ui.explore.page")
            process.freeze_modules()
        finally:
            is_loaded.set()  # if the import fails, the page shows the error

    threading.Thread(target=import_first_page, daemon=True).start()
    layers = [
        Middleware(Guard),
        Middleware(Sessions, limits=limits, is_loaded=is_loaded),
        Middleware(Uploads, no_memory=limits.no_memory),
        Middleware(BrowserCookie),
        Middleware(FrontEnd),
        Middleware(PageHead, idle_minutes=limits.idle_minutes),
    ]
    app = st.App(__file__, middleware=layers)
