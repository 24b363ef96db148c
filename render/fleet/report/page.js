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

// A step is done when all its boxes have check marks. NAME in its commands is the first machine
// that has none, and OTHER another one. The browser keeps the numbers of the boxes with a mark, and
// nothing else. It may refuse to: then they go with the page.
const steps = [...document.querySelectorAll('.todo')], progress = document.getElementById('progress');
const intro = progress && progress.textContent, boxes = [...document.querySelectorAll('.todo input')];
const key = progress && 'kiln ' + progress.dataset.plan;
function keep() {
  const marks = boxes.flatMap((b, i) => b.checked ? [i] : []).join(' ');
  try {
    if (marks) localStorage.setItem(key, marks); else localStorage.removeItem(key);
    return true;
  } catch {
    return false;
  }
}
function count() {
  let done = 0;
  for (const step of steps) {
    const boxes = [...step.querySelectorAll('input')], left = boxes.filter((b) => !b.checked);
    step.classList.toggle('done', !left.length);
    if (!left.length) done++;
    const name = left.length < boxes.length && left.length && left[0].dataset.name;
    const other = name && boxes.map((b) => b.dataset.name).findLast((n) => n !== name);
    for (const v of step.querySelectorAll('var[data-is]')) {
      v.textContent = (v.dataset.is === 'NAME' ? name : other) || v.dataset.is;
    }
  }
  const text = keep() ? intro.replace('only while this page is open', 'in this browser') : intro;
  progress.textContent = done ? done + ' of ' + steps.length + ' steps are done. ' + text : text;
}
for (const step of steps) {
  const hint = step.querySelector('.hint');
  if (hint) {
    hint.hidden = false;
    for (const v of step.querySelectorAll('var')) {
      if (['NAME', 'OTHER'].includes(v.textContent)) v.dataset.is = v.textContent;
    }
  }
  step.addEventListener('change', count);
}
if (progress) {
  try {
    for (const i of (localStorage.getItem(key) || '').split(' ')) if (boxes[i]) boxes[i].checked = true;
  } catch { /* refused */ }
  count();
}

// A button copies a command that no shell can take for anything else.
for (const code of document.querySelectorAll('code[data-copy]')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'copy';
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = 'copied';
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = 'selected';
    }
    setTimeout(() => { button.textContent = 'copy'; }, 2000);
  });
  code.after(' ', button);
}

// The page is the same all the time; only here it knows the day on which somebody looks at it.
const timeline = document.getElementById('timeline'), at = (Date.now() / 1000 - timeline.dataset.from) / timeline.dataset.span;
if (at > 0.005 && at <= 1) {
  for (const track of timeline.querySelectorAll('.track')) {
    const mark = document.createElement('span');
    mark.className = 'today';
    mark.style.left = 100 * at + '%';
    track.append(mark);
  }
}
