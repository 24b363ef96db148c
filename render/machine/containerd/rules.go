package containerd

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"kiln.dev/kiln/render/text/wording"
)

// cri is the part of a configuration that the rules read. A value of another type is refused:
// containerd does not load its CRI plugin with it.
type cri struct {
	DisabledPlugins []string          `toml:"disabled_plugins"`
	ProxyPlugins    map[string]table  `toml:"proxy_plugins"`
	Timeouts        map[string]string `toml:"timeouts"`
	Root            string            `toml:"root"`
	State           string            `toml:"state"`
	OOMScore        int               `toml:"oom_score"`
	GRPC            struct {
		Address string `toml:"address"`
	} `toml:"grpc"`
	Debug struct {
		Level string `toml:"level"`
	} `toml:"debug"`
	Plugins struct {
		CRI struct {
			SystemdCgroup bool   `toml:"systemd_cgroup"`
			EnableCDI     bool   `toml:"enable_cdi"`
			MaxDownloads  int    `toml:"max_concurrent_downloads"`
			MaxLine       int    `toml:"max_container_log_line_size"`
			Progress      string `toml:"image_pull_progress_timeout"`
			Idle          string `toml:"stream_idle_timeout"`
			Ports         bool   `toml:"enable_unprivileged_ports"`
			ICMP          bool   `toml:"enable_unprivileged_icmp"`
			DeviceOwner   bool   `toml:"device_ownership_from_security_context"`
			Containerd    struct {
				Snapshotter string             `toml:"snapshotter"`
				Default     string             `toml:"default_runtime_name"`
				Runtimes    map[string]runtime `toml:"runtimes"`
			} `toml:"containerd"`
			Registry struct {
				ConfigPath string           `toml:"config_path"`
				Mirrors    map[string]table `toml:"mirrors"`
				Auths      map[string]table `toml:"auths"`
				Configs    map[string]struct {
					Auth table `toml:"auth"`
					TLS  table `toml:"tls"`
				} `toml:"configs"`
			} `toml:"registry"`
		} `toml:"io.containerd.grpc.v1.cri"`
	} `toml:"plugins"`
}

// runtime is a runtime of pods.
type runtime struct {
	Type        string   `toml:"runtime_type"`
	Path        string   `toml:"runtime_path"`
	Annotations []string `toml:"pod_annotations"`
	Container   []string `toml:"container_annotations"`
	Devices     bool     `toml:"privileged_without_host_devices"`
	BaseSpec    string   `toml:"base_runtime_spec"`
	Snapshotter string   `toml:"snapshotter"`
	Options     table    `toml:"options"`
}

// Refused returns why containerd would start no pods with a merged configuration, or end them, nil
// if it would not (internal/cri/config of containerd, read at 1.7.27 and 2.4.2).
func Refused(text string) error {
	var c cri
	if err := toml.Unmarshal([]byte(text), &c); err != nil {
		return wrongType(err)
	}
	var all struct{ Plugins table }
	_ = toml.Unmarshal([]byte(text), &all) // it was read before
	settings := &c.Plugins.CRI
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if slices.Contains(c.DisabledPlugins, "cri") ||
		slices.Contains(c.DisabledPlugins, "io.containerd.grpc.v1.cri") {
		refuse("disabled_plugins turns off CRI, which the kubelet asks for every pod; remove it")
	}
	if address := c.GRPC.Address; address != "" && address != socket {
		refuse("grpc.address: the kubelet and the first boot ask at %s; remove it", socket)
	}
	for _, plugin := range c.DisabledPlugins {
		if slices.Contains(neededPlugins, plugin) {
			refuse("disabled_plugins turns off %s, without which CRI is not loaded; remove it",
				plugin)
		}
	}
	if c.Root != "" && c.Root == c.State {
		refuse("root and state are the same folder, with which containerd exits; write another one")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Timeouts)) {
		if _, err := time.ParseDuration(c.Timeouts[name]); err != nil {
			refuse("timeouts.%q: %q is not a duration, such as 5s, and containerd "+
				"exits", name, c.Timeouts[name])
		}
	}
	for _, set := range []struct{ name, value string }{
		{"image_pull_progress_timeout", settings.Progress}, {"stream_idle_timeout", settings.Idle},
	} {
		if _, err := time.ParseDuration(set.value); set.value != "" && err != nil {
			refuse("%s: %q is not a duration, such as 5m, and containerd does not load CRI",
				set.name, set.value)
		}
	}
	if level := c.Debug.Level; level != "" && !slices.Contains(levels, level) {
		refuse("debug.level: %q is not a level, and containerd exits%s", level,
			wording.Hint(level, levels))
	}
	if s := settings.Containerd.Snapshotter; s != "" && !slices.Contains(snapshotters, s) &&
		c.ProxyPlugins[s] == nil {
		refuse("snapshotter: containerd has no %q, and does not load CRI%s; write proxy_plugins "+
			"for one of yours", s, wording.Hint(s, snapshotters))
	}
	if settings.SystemdCgroup {
		refuse("systemd_cgroup is of a runtime that is gone; write SystemdCgroup = true into the " +
			"options of a runtime")
	}
	const lines = "kiln sets config_path, and containerd takes one of the two; write " +
		"machines.registries, or a file /etc/containerd/certs.d/HOST/hosts.toml"
	if len(settings.Registry.Mirrors) > 0 {
		refuse("registry.mirrors: " + lines)
	}
	for _, host := range slices.Sorted(maps.Keys(settings.Registry.Configs)) {
		if len(settings.Registry.Configs[host].TLS) > 0 {
			refuse("registry.configs.%q.tls: "+lines, host)
		}
		if len(settings.Registry.Configs[host].Auth) > 0 {
			refuse("registry.configs.%q.auth: everybody who may read the review twin sees this "+
				"password; %s", host, PasswordPlace)
		}
	}
	if len(settings.Registry.Auths) > 0 {
		refuse("registry.auths: everybody who may read the review twin sees these passwords; %s",
			PasswordPlace)
	}
	errs = append(errs, misspelt("plugins.", all.Plugins, plugins)...)
	names := slices.Sorted(maps.Keys(settings.Containerd.Runtimes))
	if name := settings.Containerd.Default; name != "" && !slices.Contains(names, name) {
		refuse("default_runtime_name: there is no runtime %q, and containerd does not load CRI%s",
			name, wording.Hint(name, names))
	}
	for _, name := range names {
		r := settings.Containerd.Runtimes[name]
		switch runc := r.Type == "io.containerd.runc.v2"; {
		case r.Type == "":
			refuse("runtimes.%s has no runtime_type; write one, such as "+
				"io.containerd.runc.v2", name)
		case !path.IsAbs(r.Type) && !strings.Contains(r.Type, "."):
			refuse("runtimes.%s: %q is not a runtime_type; write one such as "+
				"io.containerd.kata.v2, or the path of a shim", name, r.Type)
		case runc && r.Options["SystemdCgroup"] != true:
			refuse("runtimes.%s puts its pods into cgroups of its own, beside those of the "+
				"kubelet and systemd, which end them; write SystemdCgroup = true into its "+
				"options", name)
		}
	}
	return errors.Join(errs...)
}

// neededPlugins are those that CRI asks for, with the snapshotter that kiln leaves as it is.
var neededPlugins = []string{
	"io.containerd.snapshotter.v1.overlayfs", "io.containerd.runtime.v2.task",
	"io.containerd.content.v1.content", "io.containerd.metadata.v1.bolt",
	"io.containerd.gc.v1.scheduler", "io.containerd.event.v1.exchange",
}

// PasswordPlace says where the password of a registry belongs.
const PasswordPlace = "write username and passwordFrom into machines.registries (docs/systems.md)"

// criKeys are the keys of the CRI plugin and of its tables, in version 2 of the format: those of
// containerd 1.7 (pkg/cri/config/config.go) and those that 2.x adds (internal/cri/config/config.go,
// read at 2.4.2).
var criKeys = strings.Fields(`
auths base_runtime_spec bin_dir bin_dirs cdi_spec_dirs cgroup_writable cni cni_conf_dir
cni_max_conf_num conf_dir conf_template config_path configs container_annotations containerd
default_runtime default_runtime_name device_ownership_from_security_context disable_apparmor
disable_cgroup disable_hugetlb_controller disable_pause_image_pull disable_proc_mount
disable_snapshot_annotations disable_tcp_service discard_unpacked_layers
drain_exec_sync_io_timeout enable_cdi enable_criu enable_selinux enable_tls_streaming
enable_unprivileged_icmp enable_unprivileged_ports headers ignore_blockio_not_enabled_errors
ignore_deprecation_warnings ignore_image_defined_volumes ignore_rdt_not_enabled_errors
image_decryption image_pull_progress_timeout image_pull_with_sync_fs io_type ip_pref
max_concurrent_downloads max_conf_num max_container_log_line_size mirrors
netns_mounts_under_state_dir no_pivot options pod_annotations privileged_without_host_devices
privileged_without_host_devices_all_devices_allowed registry restrict_oom_score_adj runtime_engine
runtime_path runtime_root runtime_type runtimes sandbox_image sandbox_mode sandboxer
selinux_category_range setup_serially snapshotter stats_collect_period stats_retention_period
stream_idle_timeout stream_server_address stream_server_port systemd_cgroup
tolerate_missing_hugetlb_controller unset_seccomp_profile untrusted_workload_runtime
use_internal_loopback x509_key_pair_streaming`)

// plugins are those of containerd's own that read settings, without io.containerd. in front
// (plugins/types.go of containerd 2.4.2, and 1.7).
var plugins = strings.Fields(`
differ.v1.erofs gc.v1.scheduler grpc.v1.cri image-verifier.v1.bindir internal.v1.opt
internal.v1.restart internal.v1.tracing metadata.v1.bolt monitor.task.v1.cgroups
monitor.v1.cgroups nri.v1.nri runtime.v1.linux runtime.v2.shim runtime.v2.task
service.v1.diff-service service.v1.tasks-service snapshotter.v1.aufs snapshotter.v1.blockfile
snapshotter.v1.btrfs snapshotter.v1.devmapper snapshotter.v1.erofs snapshotter.v1.native
snapshotter.v1.overlayfs snapshotter.v1.zfs tracing.processor.v1.otlp transfer.v1.local`)

// misspelt returns an error for each plugin, and each key of the CRI plugin, that containerd drops
// with a line in its log, and whose name is nearly a known one. at is where the table stands.
func misspelt(at string, t table, known []string) (errs []error) {
	for _, key := range slices.Sorted(maps.Keys(t)) {
		name := strings.TrimPrefix(key, "io.containerd.")
		if near := wording.Nearest(name, known); near != "" && near != name {
			errs = append(errs, fmt.Errorf("%s%q: containerd does not know this name and drops "+
				"what it says; did you mean %q?", at, key, strings.TrimSuffix(key, name)+near))
		}
		inner, _ := t[key].(table)
		switch key {
		case "io.containerd.grpc.v1.cri", "cni", "containerd", "registry":
			errs = append(errs, misspelt(key+".", inner, criKeys)...)
		case "runtimes":
			for _, name := range slices.Sorted(maps.Keys(inner)) {
				runtime, _ := inner[name].(table)
				errs = append(errs, misspelt("runtimes."+name+".", runtime, criKeys)...)
			}
		}
	}
	return errs
}

// socket is where everybody asks containerd.
const socket = "/run/containerd/containerd.sock"

// levels are those of containerd's log, and snapshotters those in its program.
var (
	levels       = []string{"trace", "debug", "info", "warn", "error", "fatal", "panic"}
	snapshotters = []string{
		"blockfile", "btrfs", "devmapper", "erofs", "native", "overlayfs", "zfs",
	}
)

// wrongType returns why a value does not have its type, with its key.
func wrongType(err error) error {
	var at *toml.DecodeError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: is not of the type that containerd reads; quotes make a string, "+
			"and numbers, true and false have none", strings.Join(at.Key(), "."))
	}
	return fmt.Errorf("is not what containerd reads: %w", err)
}

// host is what hosts.toml says of a registry or of a mirror.
type host struct {
	Capabilities []string       `toml:"capabilities"`
	CA           any            `toml:"ca"`
	Client       any            `toml:"client"`
	SkipVerify   bool           `toml:"skip_verify"`
	Header       map[string]any `toml:"header"`
	OverridePath bool           `toml:"override_path"`
	DialTimeout  string         `toml:"dial_timeout"`
}

// hostKeys are the keys of host.
var hostKeys = []string{
	"ca", "capabilities", "client", "dial_timeout", "header", "override_path", "skip_verify",
}

// capabilities are what a mirror may be asked for.
var capabilities = []string{"pull", "push", "referrers", "resolve"}

// RefusedHosts returns why containerd would drop a file hosts.toml as a whole, or a key of it, nil
// if it would not (core/remotes/docker/config/hosts.go, read at 2.4.2).
func RefusedHosts(text []byte) error {
	var file struct {
		host
		Server string          `toml:"server"`
		Host   map[string]host `toml:"host"`
	}
	d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	err := d.Decode(&file)
	var unknown *toml.StrictMissingError
	var errs []error
	switch {
	case errors.As(err, &unknown):
		for _, e := range unknown.Errors {
			key := e.Key()
			line, _ := e.Position()
			errs = append(errs, fmt.Errorf("line %d: containerd knows no key %s%s", line,
				strings.Join(key, "."), wording.Hint(key[len(key)-1], hostKeys)))
		}
	case toml.Unmarshal(text, &map[string]any{}) != nil:
		return readError(err)
	case err != nil:
		return wrongType(err)
	}
	refuse := func(at, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
	}
	check := func(at string, h host) {
		for _, c := range h.Capabilities {
			if !slices.Contains(capabilities, strings.ToLower(c)) {
				refuse(at, "%q is not a capability, and containerd drops the whole file; there "+
					"are %s", c, strings.Join(capabilities, ", "))
			}
		}
		if _, err := time.ParseDuration(h.DialTimeout); h.DialTimeout != "" && err != nil {
			refuse(at, "dial_timeout: %q is not a duration, such as 5s", h.DialTimeout)
		}
		for _, key := range slices.Sorted(maps.Keys(h.Header)) {
			switch h.Header[key].(type) {
			case string, []any:
			default:
				refuse(at, "header.%s is neither a string nor a list of strings, and containerd "+
					"drops the whole file", key)
			}
		}
		for _, files := range []struct {
			key   string
			value any
		}{{"ca", h.CA}, {"client", h.Client}} {
			switch list := files.value.(type) {
			case nil, string:
			case []any:
				if slices.ContainsFunc(list, func(e any) bool {
					return !isString(e) && (files.key == "ca" || !isPair(e))
				}) {
					refuse(at, "%s has an element that containerd cannot read, and it drops the "+
						`whole file; write it like ca = ["/a.crt"], or `+
						`client = [["/a.crt", "/a.key"]]`, files.key)
				}
			default:
				refuse(at, "%s is neither a file nor a list of files", files.key)
			}
		}
	}
	if u, err := url.Parse(withScheme(file.Server)); err != nil || u.Host == "" {
		if file.Server != "" {
			refuse("server", "%q is not a URL, such as https://registry.example.com", file.Server)
		}
	}
	check("hosts.toml", file.host)
	if file.Host == nil && errs == nil {
		refuse("host", "is missing, and containerd 1.7 drops such a file; end it with [host]")
	}
	for _, name := range slices.Sorted(maps.Keys(file.Host)) {
		u, err := url.Parse(withScheme(name))
		if err == nil && u.User != nil {
			refuse("host", "a URL has a user or a password, and kiln shows nothing of it; write a "+
				"header Authorization, and secret: true")
			continue
		}
		at := fmt.Sprintf("host.%q", name)
		if err != nil || !strings.ContainsAny(u.Host, ".:[") && u.Host != "localhost" {
			refuse(at, "is not the URL of a mirror; write it like "+
				`[host."https://mirror.example.com"]`)
		}
		check(at, file.Host[name])
	}
	return errors.Join(errs...)
}

func isString(v any) bool { _, ok := v.(string); return ok }

// isPair reports whether a value is a list of two strings.
func isPair(v any) bool {
	list, _ := v.([]any)
	return len(list) == 2 && isString(list[0]) && isString(list[1])
}

// withScheme returns a URL as containerd reads it: without http at its beginning, it is of https.
func withScheme(text string) string {
	if strings.HasPrefix(text, "http") {
		return text
	}
	return "https://" + text
}
