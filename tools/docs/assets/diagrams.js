// Draws the page's Mermaid diagrams. Where there is less room, they shrink to two thirds, and then
// scroll.
mermaid.initialize({
  startOnLoad: false,
  theme: document.body.dataset.mdColorScheme === "slate" ? "dark" : "neutral",
})
for (const [number, source] of document.querySelectorAll("pre.diagram").entries()) {
  mermaid.render(`diagram-${number}`, source.textContent).then(({svg}) => {
    const place = document.createElement("div")
    place.className = "diagram"
    place.innerHTML = svg
    const drawn = place.firstElementChild
    drawn.style.minWidth = `${(2 / 3) * parseFloat(drawn.style.maxWidth)}px`
    source.replaceWith(place)
  })
}
