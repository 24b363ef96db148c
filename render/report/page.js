'use strict';
// What a link leads to is opened first, so that it can be seen.
function reveal() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let e = target; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
  target.scrollIntoView();
}
addEventListener('hashchange', reveal);
reveal();

const filter = document.getElementById('filter'), machines = [...document.querySelectorAll('.machine')];
filter.addEventListener('input', () => {
  let shown = 0;
  for (const m of machines) {
    m.hidden = !m.dataset.name.includes(filter.value.trim());
    if (!m.hidden) shown++;
  }
  document.getElementById('filtered').textContent = filter.value.trim() ? shown + ' of ' + machines.length : '';
});

// The page is the same whenever it is made; only here it knows the day.
const timeline = document.getElementById('timeline'), at = (Date.now() / 1000 - timeline.dataset.from) / timeline.dataset.span;
if (at >= 0 && at <= 1) {
  for (const track of timeline.querySelectorAll('.track')) {
    const mark = document.createElement('span');
    mark.className = 'today';
    mark.style.left = 100 * at + '%';
    track.append(mark);
  }
}
