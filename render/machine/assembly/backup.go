package assembly

import (
	"time"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/templates"
)

// addBackup adds the program and the timer that take snapshots of this machine's member of etcd.
func (t *tree) addBackup() error {
	b := t.backup()
	if b == nil {
		return nil
	}
	t.addFile(templates.BackupPath, 0o600, templates.Backup, "takes a snapshot of etcd")
	t.addUnit("kiln-backup.service", false, false)
	t.addUnitWith("kiln-backup.timer", 0o644, templates.BackupTimer(time.Duration(b.Every)),
		true, true, "controlPlane.etcd.backup")
	return nil
}

// backup returns how this machine's member of etcd takes snapshots, or nil if it takes none.
func (t *tree) backup() *config.EtcdBackup {
	if !t.m.EtcdMember {
		return nil
	}
	return t.Plan.Config.Spec.ControlPlane.Etcd.Backup
}
