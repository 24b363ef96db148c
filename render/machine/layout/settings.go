package layout

import (
	"regexp"
	"strings"
)

// Setting is one line of a file of form Settings.
type Setting struct{ Name, Value string }

// settingLine is NAME=VALUE, as sysctl.d(5) and the hook's data have it.
var settingLine = regexp.MustCompile(`^([A-Za-z_][\w./-]*)\s*=\s*(.*)$`)

// ReadSettings reads a file of form Settings: the hook's data of a machine, where a value is in
// single quotes, and kernel settings, where it is not. It reports false if a line is anything but a
// setting, a comment, or empty.
func ReadSettings(content []byte) (settings []Setting, ok bool) {
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		m := settingLine.FindStringSubmatch(line)
		if m == nil {
			return nil, false
		}
		value := m[2]
		if n := len(value); n > 1 && value[0] == '\'' && value[n-1] == '\'' {
			value = strings.ReplaceAll(value[1:n-1], `'\''`, "'")
		}
		settings = append(settings, Setting{m[1], value})
	}
	return settings, true
}
