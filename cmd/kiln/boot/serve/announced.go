package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"kiln.dev/kiln/cmd/kiln/boot/announce"
	"kiln.dev/kiln/render/folder"
)

// announcedFile is the file of the announcements.
type announcedFile struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Cluster    string         `json:"cluster"`
	Announced  []announce.Row `json:"announced"`
}

// readAnnounced reads the announcements. Without their file it takes what an older kiln kept beside
// the fetches. It fails only if another server has the file: if it cannot be read otherwise, the
// board is empty, and keepAnnounced puts the file aside.
func (l *Ledger) readAnnounced(o *LedgerOptions, old []byte) error {
	rows, err := l.announcedRows(old)
	if errors.Is(err, errUsed) {
		return err
	}
	l.unread = err
	l.board = announce.New(o.Cluster, o.Machines, o.PoolLimit, rows)
	return nil
}

func (l *Ledger) announcedRows(old []byte) (rows []announce.Row, err error) {
	if err := l.announced.own(); err != nil {
		return nil, err
	}
	data, err := folder.ReadNoLink(l.announced.path, maxAnnounced)
	if errors.Is(err, fs.ErrNotExist) {
		if len(old) > 0 && json.Unmarshal(old, &rows) != nil {
			rows = nil // they are of no use, and the fetches beside them are
		}
		return rows, nil
	}
	if err != nil {
		return nil, err
	}
	var f announcedFile
	switch {
	case json.Unmarshal(data, &f) != nil || f.APIVersion != version || f.Kind != kindAnnounced:
		return nil, fmt.Errorf("%s: damaged, or no announcements", l.announced.path)
	case f.Cluster != l.cluster:
		return nil, fmt.Errorf("%s: of another cluster (%s)", l.announced.path, f.Cluster)
	}
	return f.Announced, nil
}

// writeAnnounced writes the content of the file of the announcements, with a line for each row. It
// makes no copy of it: there may be many machines, and each of them changes its row some 15 times.
func (l *Ledger) writeAnnounced(to *bytes.Buffer) error {
	_, _ = fmt.Fprintf(to, `{"apiVersion":%q,"kind":%q,"cluster":%q,"announced":[`,
		version, kindAnnounced, l.cluster)
	rows := json.NewEncoder(to)
	rows.SetEscapeHTML(false)
	for i, row := range l.board.Rows() {
		if i > 0 {
			_ = to.WriteByte(',')
		}
		if err := rows.Encode(row); err != nil {
			return err
		}
	}
	_, _ = to.WriteString("]}\n")
	return nil
}

// keepAnnounced puts a file that cannot be read aside. It writes the announcements to disk if there
// are any, or were.
func (l *Ledger) keepAnnounced() error {
	path := l.announced.path
	if l.unread != nil {
		l.announced.close()
		aside, err := putAside(path)
		if err == nil {
			err = l.announced.own() // of the free name
		}
		if err != nil {
			return fmt.Errorf("%w; it cannot be put aside either: %w", l.unread, err)
		}
		l.note = fmt.Sprintf("%v; it is now %s, and the server begins without what machines "+
			"announced before; which documents were fetched is known", l.unread, aside)
		l.unread = nil
	}
	folder.Tidy(path)
	if _, err := os.Lstat(path); err != nil && len(l.board.Rows()) == 0 {
		return nil
	}
	return l.announced.save()
}

// putAside gives whatever has a name another one that is free, and returns it.
func putAside(path string) (aside string, err error) {
	for n := 1; ; n++ {
		aside = fmt.Sprintf("%s.unread-%d", path, n)
		if _, err := os.Lstat(aside); err != nil {
			return aside, os.Rename(path, aside)
		}
	}
}

// Note returns a line about announcements that were put aside, or nothing.
func (l *Ledger) Note() string { return l.note }

// Board returns what the machines announced. After it has changed, call KeepBoard.
func (l *Ledger) Board() *announce.Board { return l.board }

// KeepBoard writes the announcements to disk.
func (l *Ledger) KeepBoard() error { return l.announced.save() }
