"""The page Explore, and the server of all pages. Start the app with `streamlit run app.py`."""

import streamlit as st

if __name__ == "__main__":  # Streamlit runs this file as the page Explore
    from ui.explore import page

    page.show()
else:  # Streamlit imports this file once at its start, and takes the server `app` from it
    import threading
    from importlib import import_module

    from starlette.middleware import Middleware

    from ui.server.browser_cookie import BrowserCookie
    from ui.server.front_end import FrontEnd
    from ui.server.guards import Guard
    from ui.server.host_names import HostNames, addresses
    from ui.server.page_head import PageHead
    from ui.server.streamlit_patches import process
    from ui.server.uploads import Uploads

    process.apply()
    print(addresses(), HostNames.of_config(), sep="\n", flush=True)

    # The imports of the first page take two seconds, so they run while the browser starts.
    threading.Thread(target=import_module, args=("ui.explore.page",), daemon=True).start()
    layers = (Guard, Uploads, BrowserCookie, FrontEnd, PageHead)
    app = st.App(__file__, middleware=[Middleware(layer) for layer in layers])
