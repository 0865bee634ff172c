"use strict";
// A profile's page: its data file comes after this one.
addEventListener("DOMContentLoaded", () => {
  const data = gallery.value(`profile ${document.body.dataset.profile}`);
  const found = document.getElementById("found");
  const share = (count) => gallery.share(count, data.total);
  const flame = gallery.flame(document.getElementById("graph"), document.getElementById("graph-readout"), {
    colour: (node) => `var(--frame-${node.kind})`,
    words: (node) => `${node.full}: ${share(node.value)}, ${gallery.count(node.value)} ${data.unit}`,
    onZoom: (node) => gallery.state.write({ zoom: node.path }, { push: true }),
  });

  const draw = (reverse) => {
    const root = gallery.calls.weigh(gallery.calls.tree([data], { reverse }), ([count]) => count);
    const least = gallery.calls.thin(root);
    const notes = [];
    if (root.cut) notes.push("Stacks deeper than 300 frames are cut here; the folded text has them whole.");
    if (least) notes.push(`Frames of ${gallery.count(least)} ${data.unit} and fewer are not drawn; a search counts them.`);
    flame.draw(root);
    flame.rest(notes.join(" "));
  };
  const search = (matching) => {
    const count = flame.search(matching);
    found.textContent = matching ? `found in ${share(count)} of ${data.unit}` : "";
  };
  const tools = gallery.tools({
    search,
    reset: () => flame.reset(),
    icicle: (on) => flame.setIcicle(on),
    reverse: (on) => {
      draw(on);
      search(gallery.matcher(document.getElementById("search").value));
    },
  });
  const show = (force) => {
    tools.restore(force);
    flame.zoomTo(gallery.state.get("zoom"));
  };
  gallery.state.listen(() => show(false));
  show(true);

  const table = document.getElementById("functions");
  gallery.sortable(table);
  const rows = [...table.tBodies[0].rows];
  document.getElementById("filter").addEventListener("input", (event) => {
    const matching = gallery.matcher(event.target.value) || (() => true);
    for (const row of rows) row.hidden = !matching(row.cells[0].textContent);
    const left = rows.filter((row) => !row.hidden).length;
    document.getElementById("filtered").textContent = `${gallery.count(left)} functions`;
  });
});
