package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// update makes the pictures in docs/report, as goldens are made: make pictures.
var update = flag.Bool("update", false, "make the pictures in docs/report again")

// pictures is the folder of the pictures.
const pictures = "../../docs/report"

// TestPictures looks at the page of the demo in four ways: on a desk, on a phone, in the dark, and
// on paper. With -update it makes the pictures in docs of it. That they are of today's page is held
// by TestDemo in render/fleet/report, which needs no browser.
func TestPictures(t *testing.T) {
	dir := t.TempDir()
	demo := filepath.Join(dir, "demo.html")
	run(t, "go", "test", "-C", "../..", "-count=1", "./render/fleet/report", "-run", "^TestDemo$",
		"-demo", demo)
	page, err := os.ReadFile(demo)
	if err != nil {
		t.Fatal(err)
	}
	onPaper := bytes.Replace(page, []byte("@media print"), []byte("@media all"), 1)
	for _, p := range []struct {
		name, scheme  string
		page          []byte
		width, height int
		at            string // the part of the page that stands on top
	}{
		{"wide", "light", page, 1280, 1500, ""},
		{"narrow", "light", page, 390, 1900, ""},
		{"dark", "dark", page, 1280, 1500, "order"},
		{"print", "light", onPaper, 794, 1123, ""},
	} {
		t.Run(p.name, func(t *testing.T) {
			shot := picture(t, dir, p.scheme, p.page, p.width, p.height, p.at)
			if got := shot.Bounds().Size(); got != image.Pt(p.width, p.height) {
				t.Fatalf("the picture has %v", got)
			}
			var b bytes.Buffer
			encoder := png.Encoder{CompressionLevel: png.BestCompression}
			if err := encoder.Encode(&b, fewColours(shot)); err != nil {
				t.Fatal(err)
			}
			if n := len(fewColours(shot).Palette); n < 40 {
				t.Errorf("the picture has %d colours: nothing is on it", n)
			}
			if *update {
				write(t, filepath.Join(pictures, p.name+".png"), b.Bytes())
			}
		})
	}
	if *update && !t.Failed() {
		sum := sha256.Sum256(page)
		write(t, filepath.Join(pictures, "page.sha256"),
			[]byte(hex.EncodeToString(sum[:])+"\n"))
	}
}

// measure returns by how many pixels the page is too wide, with all parts opened.
const measure = `
  for (const part of document.querySelectorAll('details')) part.open = true;
  const root = document.documentElement;
  return root.scrollWidth - root.clientWidth;`

// tooWide returns by how many pixels a page is wider than a window of that width.
func tooWide(t *testing.T, dir string, page []byte, width int) string {
	t.Helper()
	return ask(t, dir, page, width, "", measure)
}

// ask returns what a function says of a page, in a frame of that width. The frame may have the
// attribute sandbox. A function that loads the page again returns null, and is asked again.
func ask(t *testing.T, dir string, page []byte, width int, sandbox, function string) string {
	t.Helper()
	page = policy.ReplaceAll(page, []byte("script-src 'unsafe-inline'"))
	end := bytes.LastIndex(page, []byte("</body>"))
	script := `<script>addEventListener('load', () => {
  const answer = (() => {` + function + `})();
  if (answer !== null) parent.postMessage(answer, '*');
});</script></body>`
	write(t, filepath.Join(dir, "framed.html"), append(page[:end:end], script...))
	frame := fmt.Sprintf(`<!DOCTYPE html><body><pre id="answer"></pre>
<script>addEventListener('message', (e) => {
  document.getElementById('answer').textContent = e.data;
});</script>
<iframe src="framed.html" %s style="border:0;width:%dpx;height:800px"></iframe>`, sandbox, width)
	dom, console := load(t, dir, "light", []byte(frame), nil)
	if console != "" {
		t.Errorf("console:\n%s", console)
	}
	return html.UnescapeString(find(t, dom, `<pre id="answer">([^<]*)</pre>`))
}

// picture returns what a browser shows of a page. A frame has the width, because a window of
// Chromium has a least one.
func picture(
	t *testing.T, dir, scheme string, page []byte, width, height int, at string,
) image.Image {
	t.Helper()
	write(t, filepath.Join(dir, "framed.html"), page)
	frame := fmt.Sprintf(`<!DOCTYPE html><body style="margin:0"><iframe src="framed.html#%s" `+
		`style="border:0;width:%dpx;height:%dpx"></iframe>`, at, width, height)
	path, out := filepath.Join(dir, "frame.html"), filepath.Join(dir, "shot.png")
	write(t, path, []byte(frame))
	preferred := map[string]string{"dark": "0", "light": "1"}[scheme]
	cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage", "--hide-scrollbars",
		"--user-data-dir="+filepath.Join(dir, "profile-pictures"),
		"--blink-settings=preferredColorScheme="+preferred,
		"--host-resolver-rules=MAP * ~NOTFOUND",
		fmt.Sprintf("--window-size=%d,%d", width, height), "--screenshot="+out, "file://"+path)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, text)
	}
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	shot, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return shot
}

// fewColours returns a picture with its most frequent colours, so that it is small.
func fewColours(from image.Image) *image.Paletted {
	const most = 64
	count := map[color.RGBA]int{}
	b := from.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)
			count[c]++
		}
	}
	var all []color.RGBA
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y color.RGBA) int {
		if n := count[y] - count[x]; n != 0 {
			return n
		}
		return slices.Compare([]uint8{x.R, x.G, x.B}, []uint8{y.R, y.G, y.B})
	})
	var colours color.Palette
	for _, c := range all[:min(most, len(all))] {
		colours = append(colours, c)
	}
	out := image.NewPaletted(b, colours)
	draw.Draw(out, b, from, b.Min, draw.Src)
	return out
}
