"""Explore, and what serves all pages: `streamlit run app.py`."""

import streamlit as st

if __name__ == "__main__":  # a page runs as the main program, whoever serves it
    from ui.explore import page

    page.show()
else:  # Streamlit imports the server from here
    import threading
    from importlib import import_module

    from starlette.middleware import Middleware

    from ui.server.browser_cookie import BrowserCookie
    from ui.server.first_script import FirstScript
    from ui.server.front_end import FrontEnd
    from ui.server.guards import Guard
    from ui.server.host_names import HostNames, addresses
    from ui.server.no_delay import send_at_once
    from ui.server.options import read_without_lock
    from ui.server.replaced_runs import end_replaced_runs
    from ui.server.uploads import Uploads

    send_at_once()
    read_without_lock()
    end_replaced_runs()
    print(addresses(), HostNames.of_config(), sep="\n", flush=True)

    # What the first page imports takes two seconds: they pass while a browser starts.
    threading.Thread(target=import_module, args=("ui.explore.page",), daemon=True).start()
    layers = (Guard, Uploads, BrowserCookie, FrontEnd, FirstScript)
    app = st.App(__file__, middleware=[Middleware(layer) for layer in layers])
