(function () {
  'use strict';
  // Strips share one stretch factor and one scroll position, for they share the axis of cycles.
  var strips = Array.from(document.querySelectorAll('.stretch'));
  var zoom = 1;
  function place(left) {
    strips.forEach(function (strip) { strip.scrollLeft = left; });
  }
  function stretch(factor, pointer) {
    if (strips.length === 0) { return; }
    var first = strips[0];
    var at = pointer === null ? first.clientWidth / 2 : pointer;
    var share = (first.scrollLeft + at) / (first.clientWidth * zoom);
    zoom = factor === 0 ? 1 : Math.min(256, Math.max(1, zoom * factor));
    strips.forEach(function (strip) {
      strip.firstElementChild.setAttribute('width', zoom * 100 + '%');
      strip.classList.toggle('zoomed', zoom >= 6);
    });
    place(share * first.clientWidth * zoom - at);
  }
  document.querySelectorAll('[data-zoom]').forEach(function (button) {
    button.addEventListener('click', function () { stretch(Number(button.dataset.zoom), null); });
  });
  strips.forEach(function (strip) {
    var held = null;
    strip.addEventListener('scroll', function () { place(strip.scrollLeft); });
    strip.addEventListener('wheel', function (event) {
      if (!event.ctrlKey) { return; }
      event.preventDefault();
      stretch(event.deltaY > 0 ? 0.8 : 1.25, event.clientX - strip.getBoundingClientRect().left);
    }, { passive: false });
    strip.addEventListener('pointerdown', function (event) {
      held = { x: event.clientX, left: strip.scrollLeft };
      strip.classList.add('held');
    });
    window.addEventListener('pointermove', function (event) {
      if (held !== null) { place(held.left + held.x - event.clientX); }
    });
    window.addEventListener('pointerup', function () {
      held = null;
      strip.classList.remove('held');
    });
  });
  // A title becomes a tip that follows the pointer; it is text and stays text.
  var tip = document.getElementById('tip');
  document.addEventListener('pointermove', function (event) {
    var node = event.target;
    if (!(node instanceof SVGElement)) { tip.hidden = true; return; }
    var title = node.querySelector(':scope > title');
    if (title !== null) {
      node.setAttribute('aria-label', title.textContent);
      title.remove();
    }
    var words = node.getAttribute('aria-label');
    tip.hidden = words === null;
    if (words === null) { return; }
    tip.textContent = words;
    var left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    var below = event.clientY + 18 + tip.offsetHeight > window.innerHeight;
    tip.style.left = Math.max(4, left) + 'px';
    tip.style.top = (below ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + 'px';
  });
  document.documentElement.dataset.ready = String(strips.length);
}());
