// Lets the search run on pages that are opened from a disk (file://), which may not start a worker:
// the worker's script runs in a hidden frame instead. (The theme finds this file by its name.)
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.append(frame)
      const inside = frame.contentWindow
      inside.postMessage = data =>
        setTimeout(() => this.dispatchEvent(new MessageEvent("message", {data})))
      const script = inside.document.createElement("script")
      script.src = url
      this.loaded = new Promise(resolve => script.addEventListener("load", resolve))
      this.inside = inside
      inside.document.head.append(script)
    }
    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", {data})))
    }
    terminate() {}
  }
}
