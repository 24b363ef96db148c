package need

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const networkd = "/usr/lib/systemd/systemd-networkd"

// Networkd starts systemd-networkd in a network of its own, with a folder in place of
// /etc/systemd/network, and ends it when it has read all files. It returns the log.
func Networkd(dir string) (log string, err error) {
	err = inFolder(func(own string) error {
		log, err = startNetworkd(dir, filepath.Join(own, "log"))
		return err
	})
	return log, err
}

func startNetworkd(dir, file string) (log string, err error) {
	const apart = "mount -t tmpfs none /run && " +
		"mkdir -p /run/systemd/netif /etc/systemd/network && " +
		`mount --bind "$1" /etc/systemd/network && exec ` + networkd
	if err := os.Chmod(dir, 0o755); err != nil { // #nosec G302 -- another user reads it
		return "", err
	}
	out, err := os.Create(file)
	if err != nil {
		return "", err
	}
	cmd := exec.Command("unshare", "--net", "--mount", "sh", "-c", apart, "--", dir)
	cmd.Env = append(os.Environ(), "SYSTEMD_LOG_LEVEL=debug", "SYSTEMD_LOG_TARGET=console")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return "", errors.Join(err, out.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	// It looks at links when it has read all files.
	whole, end := false, time.Now().Add(30*time.Second)
	for !whole && len(ended) == 0 && time.Now().Before(end) {
		time.Sleep(50 * time.Millisecond)
		text, err := os.ReadFile(file)
		if err != nil {
			break
		}
		log = string(text)
		whole = strings.Contains(log, "\nlo: ")
	}
	_ = cmd.Process.Kill()
	err = <-ended
	if whole {
		err = nil
	} else {
		err = cmp.Or(err, errors.New("it ended before it had read all files"))
	}
	return log, errors.Join(err, out.Close())
}
