package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// This file finds the errors and warnings in logs by the level that a program gives to a line.

// levels are looked for in each line of the logs of pods, of the journal, and of cloud-init.
var levels = []struct {
	name string
	line *regexp.Regexp
}{
	// klog: the level, month and day, and the time; in Kubernetes' programs and kube-vip.
	{"error", regexp.MustCompile(`(^|[ ])[EF][01]\d[0-3]\d \d\d:\d\d:\d\d\.\d{6} `)},
	{"warning", regexp.MustCompile(`(^|[ ])W[01]\d[0-3]\d \d\d:\d\d:\d\d\.\d{6} `)},
	// JSON of zap: etcd.
	{"error", regexp.MustCompile(`\{"level":"(error|dpanic|panic|fatal)"`)},
	{"warning", regexp.MustCompile(`\{"level":"warn"`)},
	// logfmt: containerd and runc.
	{"error", regexp.MustCompile(`time=\S+ level=(error|fatal|panic) `)},
	{"warning", regexp.MustCompile(`time=\S+ level=warn(ing)? `)},
	// CoreDNS.
	{"error", regexp.MustCompile(`\[(ERROR|PANIC|FATAL)\] `)},
	{"warning", regexp.MustCompile(`\[WARNING\] `)},
	// cloud-init, in its own log and on the console.
	{"error", regexp.MustCompile(`\[(ERROR|CRITICAL)\]: |Traceback \(most recent call last\)`)},
	{"warning", regexp.MustCompile(`\[WARNING\]: `)},
}

// inLevels returns the errors and warnings in the lines of a log.
func inLevels(where, text string) (found []finding) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, l := range levels {
			if l.line.MatchString(line) {
				found = append(found, finding{where, l.name, line})
				break
			}
		}
	}
	return found
}

// podLogs is the folder of a record with the machine's /var/log/pods. A record without it is not
// held to levels.
const podLogs = "pods"

// inLogs returns the errors and warnings in all logs of a record. Those in the journal to which
// systemd gave a priority are in the file warnings. It fails if a log is missing that each machine
// has.
func inLogs(folder string) (found []finding, err error) {
	if _, err := os.Stat(filepath.Join(folder, podLogs)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	warnings, err := os.ReadFile(filepath.Join(folder, "warnings"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(warnings)) {
		found = append(found, finding{"warnings", "warning", strings.TrimSpace(line)})
	}
	journal, err := os.ReadFile(filepath.Join(folder, "journal"))
	if err != nil {
		return nil, err
	}
	found = append(found, inLevels("journal", string(journal))...)
	cloudInit, err := os.ReadFile(filepath.Join(folder, "cloud-init.log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	found = append(found, inLevels("cloud-init.log", string(cloudInit))...)
	pods, err := inPods(folder)
	return append(found, pods...), err
}

// inPods returns the errors and warnings in the logs of pods, each by the name of its container,
// which is the folder of the log. It fails if there are no logs.
func inPods(folder string) (found []finding, err error) {
	logs := 0
	err = filepath.WalkDir(filepath.Join(folder, podLogs),
		func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			logs++
			found = append(found, inLevels(filepath.Base(filepath.Dir(path)), string(text))...)
			return err
		})
	if err == nil && logs == 0 {
		err = fmt.Errorf("%s/%s has no logs", folder, podLogs)
	}
	return found, err
}
