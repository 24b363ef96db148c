// Package page looks at the page of kiln report as a browser does: headless Chromium loads it from
// disk, in light and in dark, and axe-core looks for barriers to people. It is a module of its own
// because it needs a browser, and axe-core from its npm package.
package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// axeVersion is the release of axe-core.
const axeVersion = "4.10.3"

// mebibytes is how large the page of a hundred machines may be.
const mebibytes = 2

// TestPage checks that the page of a hundred machines is small and has no secret, and that a page
// fetches nothing, writes nothing to the console, and has no problem that axe-core finds. Folded
// parts are opened first. Axe-core needs minutes for a hundred machines, so it looks at pages of
// thirty and of ten, which show each kind of part too.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	page, less, small := render(t, dir, 97), render(t, t.TempDir(), 27), render(t, t.TempDir(), 7)
	if n := len(page); n > mebibytes<<20 {
		t.Errorf("the page has %d bytes, want %d MiB at most", n, mebibytes)
	}
	for _, word := range []string{
		"PRIVATE KEY", "http-equiv=\"refresh\"", "src=", "@import", "url(",
	} {
		if bytes.Contains(page, []byte(word)) {
			t.Errorf("the page has %q", word)
		}
	}
	axe := axeCore(t, dir)
	for _, look := range []struct {
		scheme, shown string
		page          []byte
		opened        int
		name          string
	}{
		{"light", "11 of 30", less, 30, "worker-2"},
		{"dark", "1 of 10", small, 30, "worker-2"},
	} {
		t.Run(look.scheme, func(t *testing.T) {
			dom, console := load(t, dir, look.scheme, look.page, axe)
			if console != "" {
				t.Errorf("console:\n%s", console)
			}
			result := find(t, dom, `<pre id="axe-result">([^<]*)</pre>`)
			var found struct {
				Scheme     string
				Passes     int
				Opened     int
				Shown      string
				Done       string // what the page says of the steps
				Name       string // what stands for NAME in a step that has begun
				Copies     int    // buttons that copy
				Violations []struct{ ID, Impact, Help string }
				Error      string
			}
			err := json.Unmarshal([]byte(html.UnescapeString(result)), &found)
			if err != nil || found.Error != "" {
				t.Fatalf("axe: %v %s: %s", err, found.Error, result)
			}
			for _, v := range found.Violations {
				t.Errorf("%s (%s): %s", v.ID, v.Impact, v.Help)
			}
			if found.Scheme != look.scheme || found.Passes < 15 || found.Opened < look.opened {
				t.Errorf("scheme %s, %d rules held, %d parts opened: the page was not looked at",
					found.Scheme, found.Passes, found.Opened)
			}
			if found.Shown != look.shown {
				t.Errorf("the filter shows %q", found.Shown)
			}
			if found.Name != look.name || !strings.HasPrefix(found.Done, "1 of ") ||
				found.Copies < 5 {
				t.Errorf("after one step and a machine of another: %q, NAME is %q; "+
					"%d buttons", found.Done, found.Name, found.Copies)
			}
		})
	}
	t.Run("narrow", func(t *testing.T) {
		for _, width := range []int{390, 320} {
			if n := tooWide(t, dir, page, width); n != "0" {
				t.Errorf("at %d pixels the page is %s too wide", width, n)
			}
		}
		wide := bytes.Replace(small, []byte(`<main id="main">`),
			[]byte(`<main id="main"><div style="width:500px">x</div>`), 1)
		if n := tooWide(t, dir, wide, 390); n == "0" {
			t.Error("a part of 500 pixels was not found: the test does not test")
		}
	})
	for _, width := range []int{390, 1280} {
		t.Run(fmt.Sprintf("figures at %d", width), func(t *testing.T) {
			if wrong := ask(t, dir, small, width, "", figures); wrong != "" {
				t.Error(wrong)
			}
		})
	}
	t.Run("check marks", func(t *testing.T) {
		const kept = "1 of 4 steps are done. 4 steps. Each is complete before the next one " +
			"begins. Check marks are kept in this browser."
		if got := ask(t, dir, small, 1280, "", marks); got != kept {
			t.Errorf("after the page was loaded again: %q", got)
		}
		// A browser refuses the storage to a page that it holds for nobody's.
		const alone = `sandbox="allow-scripts"`
		const open = "1 of 4 steps are done. 4 steps. Each is complete before the next one " +
			"begins. Check marks are kept only while this page is open."
		if got := ask(t, dir, small, 1280, alone, refused); got != open {
			t.Errorf("without storage: %q", got)
		}
	})
	t.Run("names in commands", func(t *testing.T) {
		const want = "NAME OTHER, cp-1 done: cp-2 cp-3, cp-2 done: cp-3 cp-2"
		if got := ask(t, dir, small, 1280, "", filledIn); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
	t.Run("policy", func(t *testing.T) {
		if _, console := load(t, dir, "light", small, nil); console != "" {
			t.Errorf("the page's own script: console:\n%s", console)
		}
		foreign := bytes.Replace(small, []byte(`<main id="main">`),
			[]byte(`<main id="main"><script>nothing.there()</script>`), 1)
		_, console := load(t, dir, "light", foreign, nil)
		if !strings.Contains(console, "violates the following Content Security Policy") {
			t.Errorf("a script that is not the page's: console:\n%s", console)
		}
	})
	t.Run("a page that is wrong", func(t *testing.T) {
		wrong := bytes.Replace(small, []byte(`<main id="main">`),
			[]byte(`<main id="main"><button></button><script>nothing.there()</script>`), 1)
		dom, console := load(t, dir, "light", wrong, axe)
		if !strings.Contains(find(t, dom, `<pre id="axe-result">([^<]*)</pre>`), "button-name") ||
			!strings.Contains(console, "nothing is not defined") {
			t.Error("nothing was found in it: the test does not test")
		}
	})
}

// figures returns what is wrong with the sizes, the trust and the readers of the page.
const figures = `
  const wrong = [], all = (s, e = document) => [...e.querySelectorAll(s)];
  const rows = all('.fills li');
  for (const row of rows) {
    const limit = row.textContent.includes(' %'), bar = !!row.querySelector('.track');
    if (limit !== bar) wrong.push('a bar is ' + bar + ': ' + row.textContent);
  }
  const bars = rows.filter((r) => r.querySelector('.track')).length;
  if (!bars || bars === rows.length) wrong.push('one kind of rows');
  const leaves = all('.tree ul > li').map((e) => {
    const range = document.createRange();
    range.selectNodeContents(e);
    return [e.textContent, e.getBoundingClientRect(), range.getBoundingClientRect()];
  });
  if (leaves.length < 9) wrong.push(leaves.length + ' leaves');
  for (const [name, , text] of leaves) {
    for (const [other, box] of leaves) {
      const level = name !== other && box.top < text.bottom && text.top < box.bottom;
      if (level && box.left >= text.left && box.left - text.right < 12) {
        wrong.push(name + ' runs into ' + other);
      }
    }
  }
  for (const line of all('.exposed > li p')) {
    if (!/^Its readers .*They are root on the machine, /.test(line.textContent)) {
      wrong.push(line.textContent);
    }
  }
  return wrong.join('\n');`

// marks takes the first step as done, loads the page again, and returns what it says then.
const marks = `
  const boxes = [...document.querySelector('.todo').querySelectorAll('input')];
  if (!sessionStorage.getItem('again')) {
    sessionStorage.setItem('again', 'yes');
    for (const box of boxes) box.click();
    location.reload();
    return null;
  }
  const key = 'kiln ' + document.getElementById('progress').dataset.plan;
  const stored = localStorage.getItem(key), marks = boxes.map((b, i) => i).join(' ');
  if (stored !== marks) return 'stored: ' + stored;
  return document.getElementById('progress').textContent;`

// refused takes the first step as done where nothing is stored, and returns what the page says.
const refused = `
  for (const box of document.querySelector('.todo').querySelectorAll('input')) box.click();
  return document.getElementById('progress').textContent;`

// filledIn returns what stands for NAME and OTHER in the step of the control planes.
const filledIn = `
  const step = [...document.querySelectorAll('.todo')].find((s) => s.querySelector('.hint'));
  const names = () => ['NAME', 'OTHER'].map((is) =>
    step.querySelector('code var[data-is=' + is + ']').textContent).join(' ');
  let said = names();
  for (const box of [...step.querySelectorAll('input')].slice(0, 2)) {
    box.click();
    said += ', ' + box.dataset.name + ' done: ' + names();
  }
  for (const box of step.querySelectorAll('input')) if (box.checked) box.click();
  return said;`

// render makes a cluster of three control planes and some workers, changes it, and returns its
// page.
func render(t *testing.T, dir string, workers int) []byte {
	t.Helper()
	kiln := filepath.Join(dir, "kiln")
	run(t, "go", "build", "-C", "../..", "-o", kiln, "./cmd/kiln")
	config := filepath.Join(dir, "cluster.yaml")
	write(t, config, cluster("v1.35.1", workers))
	review := filepath.Join(dir, "review")
	run(t, kiln, "render", "--config", config,
		"--out", filepath.Join(dir, "nodes"), "--review", review)
	write(t, config, cluster("v1.36.3", workers))
	out := filepath.Join(dir, "report.html")
	run(t, kiln, "report", "--config", config, "--since", review, "--out", out)
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func cluster(version string, workers int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: page}
spec:
  kubernetesVersion: %s
  endpoint: api.page.example.com
  machines: {os: flatcar, platform: openstack}
  nodes:
`, version)
	for i := range 3 {
		fmt.Fprintf(&b,
			"  - {name: cp-%d, role: control-plane, addresses: [10.0.0.%d]}\n", i+1, 201+i)
	}
	for i := range workers {
		platform := "openstack"
		if i == workers-1 {
			platform = "nocloud" // which has no limit
		}
		fmt.Fprintf(&b, "  - {name: worker-%d, role: worker, addresses: [10.0.1.%[1]d], "+
			"platform: %[2]s}\n", i+1, platform)
	}
	return b.Bytes()
}

// axeCore returns the program, from its npm package.
func axeCore(t *testing.T, dir string) []byte {
	t.Helper()
	cmd := exec.Command("npm", "pack", "--silent", "axe-core@"+axeVersion)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm pack: %v\n%s", err, text)
	}
	run(t, "tar", "-C", dir, "-xzf", filepath.Join(dir, "axe-core-"+axeVersion+".tgz"),
		"package/axe.min.js")
	axe, err := os.ReadFile(filepath.Join(dir, "package", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return axe
}

// look opens everything, types into the filter, runs axe-core, and leaves the result in the page.
const look = `
addEventListener('load', async () => {
  const result = document.createElement('pre');
  result.id = 'axe-result';
  try {
    const parts = [...document.querySelectorAll('details')];
    for (const part of parts.slice(0, 120)) part.open = true;
    const filter = document.getElementById('filter');
    filter.value = 'worker-1';
    filter.dispatchEvent(new Event('input'));
    const shown = document.getElementById('filtered').textContent;
    filter.value = '';
    filter.dispatchEvent(new Event('input'));
    const steps = [...document.querySelectorAll('.todo')].filter((s) => s.querySelector('.hint'));
    for (const box of steps[0].querySelectorAll('input')) box.click();
    steps[1].querySelector('input').click();
    const found = await axe.run(document, {resultTypes: ['violations', 'passes']});
    result.textContent = JSON.stringify({
      Scheme: matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light',
      Passes: found.passes.length,
      Shown: shown,
      Done: document.getElementById('progress').textContent,
      Name: steps[1].querySelector('var[data-is=NAME]').textContent,
      Copies: document.querySelectorAll('.copy').length,
      Opened: parts.filter((p) => p.open).length,
      Violations: found.violations.map((v) => ({
        ID: v.id,
        Impact: v.impact,
        Help: v.help + ': ' + v.nodes[0].html.slice(0, 200),
      })),
    });
  } catch (e) {
    result.textContent = JSON.stringify({Error: String(e)});
  }
  document.body.append(result);
});`

// load opens a page with axe-core in it, and returns what became of it and what the console said.
func load(t *testing.T, dir, scheme string, page, axe []byte) (dom, console string) {
	t.Helper()
	path := filepath.Join(dir, "looked-at.html")
	if axe != nil {
		page = looked(page, axe)
	}
	write(t, path, page)
	// In Blink's settings 0 is dark and 1 light.
	preferred := map[string]string{"dark": "0", "light": "1"}[scheme]
	// The page is printed when its work is done; the time-out is for a page that never ends.
	cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage", "--user-data-dir="+filepath.Join(dir, "profile-"+scheme),
		"--blink-settings=preferredColorScheme="+preferred, "--host-resolver-rules=MAP * ~NOTFOUND",
		"--enable-logging=stderr", "--timeout=900000", "--virtual-time-budget=60000",
		"--dump-dom", "file://"+path)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, messages.String())
	}
	for line := range strings.Lines(messages.String()) {
		if strings.Contains(line, "CONSOLE") {
			console += line
		}
	}
	return out.String(), console
}

// find returns what the expression's group matches.
func find(t *testing.T, text, expression string) string {
	t.Helper()
	m := regexp.MustCompile(expression).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s is not in the page of %d bytes", expression, len(text))
	}
	return m[1]
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if text, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// policy is the part of the page's own Content-Security-Policy that names its script.
var policy = regexp.MustCompile(`script-src [^"]*`)

// looked adds what looks at the page, which its policy has to allow for that.
func looked(page, axe []byte) []byte {
	page = policy.ReplaceAll(page, []byte("script-src 'unsafe-inline'"))
	scripts := "<script>" + string(axe) + "</script><script>" + look + "</script></body>"
	end := bytes.LastIndex(page, []byte("</body>"))
	return bytes.Join([][]byte{page[:end], []byte(scripts), page[end+len("</body>"):]}, nil)
}
