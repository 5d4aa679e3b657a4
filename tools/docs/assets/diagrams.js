// Draws the page's Mermaid diagrams. They shrink to two thirds where there is less room, and scroll beyond.
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
