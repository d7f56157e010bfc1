"""A page in a real browser: served on loopback, opened in headless Chromium, what it posts."""

import http.server
import json
import queue
import subprocess
import threading
from contextlib import contextmanager


@contextmanager
def served(page):
    """Serve a page on loopback; yield its address and the queue of what it posts."""
    posted = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self._answer(page)

        def do_POST(self):
            posted.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._answer(b"")

        def _answer(self, body):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", posted
        server.shutdown()


def answer_of_browser(page, directory, width):
    """Open a page in Chromium and return what it posts."""
    flags = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--remote-debugging-port=0", f"--window-size={width},9000"),
        f"--user-data-dir={directory / 'profile'}",
    ]
    with (
        served(page) as (address, posted),
        subprocess.Popen(["chromium", *flags, address], stderr=subprocess.DEVNULL) as browser,
    ):
        try:
            return posted.get(timeout=300)
        finally:
            browser.terminate()
