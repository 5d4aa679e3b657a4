// search.js SITE SEARCHES: asks the site's search as a browser does. SEARCHES has a line for each
// search: the words, a |, and the pages of which one must be among the first three results.
//
// The theme's script that searches is a worker. It runs here with a worker's few functions, and is
// asked through the site's iframe-worker.js, as the pages ask it.
const fs = require("fs")
const vm = require("vm")

const [site, searches] = process.argv.slice(2)
if (!fs.existsSync(site)) {
  console.log("skipped: the site was not built")
  process.exit(77)
}
const folder = `${site}/assets/javascripts/workers`
const worker = fs.readdirSync(folder).find(name => /^search\..*\.js$/.test(name))

class Worker {
  constructor() {
    const inside = {console, addEventListener: (_, hear) => { this.hear = hear },
                    postMessage: data => this.onmessage(data)}
    inside.self = inside
    vm.runInNewContext(fs.readFileSync(`${folder}/${worker}`, "utf8"), inside)
  }
  postMessage(data) { this.hear({data}) }
}
const page = {window: {Worker}, location: {protocol: "https:"}, EventTarget}
vm.runInNewContext(fs.readFileSync(`${site}/assets/iframe-worker.js`, "utf8"), page)
const search = new page.window.Worker()
const ask = message => new Promise(answer => {
  search.onmessage = answer
  search.postMessage(message)
})

async function main() {
  const index = JSON.parse(fs.readFileSync(`${site}/search/search_index.json`, "utf8"))
  await ask({type: 0, data: {...index, options: {suggest: false}}})
  let asked = 0
  let faults = 0
  for (const line of fs.readFileSync(searches, "utf8").split("\n")) {
    if (!line.trim() || line.startsWith("#")) continue
    const [words, wanted] = line.split("|").map(part => part.trim())
    const {data} = await ask({type: 2, data: words})
    const found = data.items.slice(0, 3).map(items => items[0].location.replace(/#.*/, ""))
    asked++
    if (wanted.split(/\s+/).some(one => found.includes(one))) continue
    faults++
    console.log(`"${words}" finds ${found.join(", ") || "nothing"}; wanted: ${wanted}`)
  }
  console.log(`${asked} searches, ${faults} without the page among the first three`)
  process.exit(asked === 0 || faults > 0 ? 1 : 0)
}
main()
