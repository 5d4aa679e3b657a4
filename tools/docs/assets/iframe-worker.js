// Changes how the theme's search is asked. (The theme loads this file by its name, before the search.)
{
  const kQuery = 2  // the type of a message that asks
  // A word that begins with a hyphen would exclude pages, and people search for --options, whose
  // sections have a hidden word: "optionmaxside" for --max-side (see hooks.py).
  const withoutDashes = text =>
    text.replace(/(^|\s)(-+|\+)([\w-]+)/g, (_, space, dashes, word) =>
      space + (dashes === "--" ? `option${word.replace(/-/g, "")}^20 ` : "") + word)

  // Pages that are opened from a disk (file://) may not start a worker: the worker's script runs in
  // a hidden frame instead.
  class FrameWorker extends EventTarget {
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

  window.Worker = class extends (location.protocol === "file:" ? FrameWorker : window.Worker) {
    postMessage(message, ...rest) {
      if (message.type === kQuery) message = {...message, data: withoutDashes(message.data)}
      super.postMessage(message, ...rest)
    }
  }
}
