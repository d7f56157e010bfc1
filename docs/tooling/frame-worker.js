// Search without a server: a page that is opened from a disk may not start a worker, so a frame does the work.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const page = frame.contentDocument;
      page.open();
      page.write(
        "<!doctype html><title>search</title><script>" +
          "var post = parent.postMessage.bind(parent); self.postMessage = data => post(data, '*');" +
          "self.importScripts = (...urls) => Promise.all(urls.map(url => new Promise((done, failed) => {" +
          "const part = document.createElement('script'); part.src = url; part.onload = done;" +
          "part.onerror = failed; document.head.appendChild(part); })));" +
          "<" + "/script>"
      );
      const program = page.createElement("script");
      program.src = url;
      this.ready = new Promise((done) => (program.onload = done));
      page.head.appendChild(program);
      page.close();
      this.frame = frame;
      this.listen = (event) => {
        if (event.source !== frame.contentWindow) return;
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
        if (this.onmessage) this.onmessage(event);
      };
      addEventListener("message", this.listen);
    }

    postMessage(data) {
      this.ready.then(() =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
      );
    }

    terminate() {
      removeEventListener("message", this.listen);
      this.frame.remove();
    }
  };
}
