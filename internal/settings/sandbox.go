package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/sandbox"
)

// Sandbox is what the key "sandbox" of the settings files changes in the profiles of
// commands.
type Sandbox struct {
	AllowRead, AllowWrite []string // absolute paths
	DenyRead, DenyWrite   []string
	Limits                sandbox.Limits
	Totals                sandbox.Totals
	Notes                 []string // what does not apply, one line each

	Enabled           bool     // commands run under the profile edit at most
	AutoAllow         bool     // those that no rule is about run without a question; only with Enabled
	FailIfUnavailable bool     // where the machine cannot enforce edit, Enabled keeps a session from starting
	Excluded          []string // commands that Enabled is not about, as rules for Bash specify them
	Unsandboxed       bool     // a call can ask for a command that Enabled is not about
	Network           Network
	From              map[string]string // the place of the file that decided, by the key

	loosely      bool // a file that may loosen has enabled it
	managedHosts []string
}

// DefaultLimits bound each process of a command unless a file says otherwise.
func DefaultLimits() sandbox.Limits { return sandbox.Limits{FileSize: 64 << 30, CPU: 24 * 60 * 60} }

// DefaultTotals bound all processes of a command, which leave a fifth of the memory to
// others.
func DefaultTotals() sandbox.Totals {
	return sandbox.Totals{Processes: 1000, Memory: sandbox.MachineMemory() / 5 * 4}
}

// UnavailableError reports that the machine cannot enforce what a settings file enables.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return e.Err.Error() }

func (e *UnavailableError) Unwrap() error { return e.Err }

// ReadSandbox reads the key of all settings files. What a directory's own files allow, and
// those that others can write or that have a mistake, does not apply; what they deny does.
// Of a limit the strongest file that may loosen counts, and any file may lower it. The
// error is a *ManagedError, or an *UnavailableError, with which the result is valid.
func ReadSandbox(from defs.Options) (s Sandbox, err error) {
	from.Simple = false
	files, _, err := defs.ReadSettings(from)
	if err != nil {
		return s, err
	}
	s = Sandbox{Limits: DefaultLimits(), Totals: DefaultTotals(), AutoAllow: true, FailIfUnavailable: true, Unsandboxed: true, From: map[string]string{}}
	for _, f := range files {
		if f.Broken != nil {
			continue // reported with the permissions
		}
		r := &sandboxReader{
			permissionReader: permissionReader{file: f, cwd: from.Cwd, home: from.Home, untrusted: f.Untrusted},
			paths:            map[string][]string{}, limits: map[string]uint64{}, flags: map[string]bool{}, places: map[string]string{},
		}
		r.read()
		if err := r.firstError(); err != nil && f.Source == defs.Managed {
			return s, &ManagedError{err}
		}
		if r.unread != nil {
			return s, r.unread
		}
		s.add(r)
	}
	if err := s.finish(sandbox.Probe().Enforces(sandbox.Edit)); err != nil {
		return s, &UnavailableError{err}
	}
	return s, nil
}

// sandboxReader reads the key of one file.
type sandboxReader struct {
	permissionReader
	paths  map[string][]string // by the name of the list
	limits map[string]uint64
	flags  map[string]bool   // by the key
	places map[string]string // likewise
	port   int
	unread error // about something that denies and cannot be applied
}

func (r *sandboxReader) read() {
	entries, err := r.file.Entries("sandbox")
	if err != nil {
		r.wrong = append(r.wrong, fmt.Errorf("%w; it counts as enabled", err))
		r.flags["enabled"], r.places["enabled"] = true, r.file.Path
	}
	for _, e := range entries {
		switch e.Key {
		case "filesystem":
			err = r.guard(e, r.list)
		case "limits":
			err = r.object(e, r.limit)
		case "network":
			err = r.guard(e, func(key string, value json.RawMessage) (bool, error) { return r.network(key, value, r.place(e.Line)) })
		case "excludedCommands":
			err = r.excluded(e)
		default:
			var known bool
			if known, err = r.flag(e.Key, e.Value, r.place(e.Line)); !known {
				r.unknown(e, e.Key)
			}
		}
		if err != nil {
			r.wrong = append(r.wrong, fmt.Errorf("%s: sandbox.%s: %w", r.place(e.Line), e.Key, err))
		}
	}
}

func (r *sandboxReader) unknown(e defs.SettingsEntry, key string) {
	why := cmp.Or(without[key], "it is not known here")
	r.remarks = append(r.remarks, fmt.Sprintf("%s: sandbox.%s is not in force: %s", r.place(e.Line), key, why))
}

var errNoObject = errors.New("is not an object")

// object calls take for each key of an object; take reports whether it knows the key. A
// mistake in one costs no other.
func (r *sandboxReader) object(e defs.SettingsEntry, take func(key string, value json.RawMessage) (bool, error)) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(e.Value, &fields); err != nil || e.Listed {
		return fmt.Errorf("%.80s %w", e.Value, errNoObject)
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		known, err := take(key, fields[key])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		} else if !known {
			r.unknown(e, e.Key+"."+key)
		}
	}
	return errors.Join(errs...)
}

// guard is object for a key that denies: of what is no object, that is unknown.
func (r *sandboxReader) guard(e defs.SettingsEntry, take func(key string, value json.RawMessage) (bool, error)) error {
	err := r.object(e, take)
	if errors.Is(err, errNoObject) {
		r.refuse(r.place(e.Line), e.Key+" is not an object")
	}
	return err
}

// refuse notes why something that denies cannot be applied.
func (r *sandboxReader) refuse(place, why string) {
	r.unread = cmp.Or(r.unread, fmt.Errorf("%s: sandbox: %s, so what it denies is unknown and nothing is started; correct the file", place, why))
}

func (r *sandboxReader) list(key string, value json.RawMessage) (bool, error) {
	if !slices.Contains([]string{"allowRead", "allowWrite", "denyRead", "denyWrite"}, key) {
		return false, nil
	}
	texts, wrong := r.texts(key, value, strings.HasPrefix(key, "deny"))
	errs := []error{wrong}
	for _, text := range texts {
		if strings.ContainsAny(text, "*?[") {
			errs = append(errs, r.pattern(key, text))
			continue
		}
		r.paths[key] = append(r.paths[key], r.absolute(text))
	}
	return true, errors.Join(errs...)
}

// pattern returns the error about a pattern in a list of paths. One that denies refuses the
// session, as it cannot be applied.
func (r *sandboxReader) pattern(key, text string) error {
	rule := permission.Rule{Tool: "Read", Specifier: text}
	if strings.HasSuffix(key, "Write") {
		rule.Tool = "Edit"
	}
	if strings.HasPrefix(key, "deny") && r.unread == nil {
		r.unread = fmt.Errorf("%s: sandbox.filesystem: %s: %q is a pattern, which cannot be applied there, so nothing is started; write %q into permissions.deny instead", r.file.Path, key, text, rule)
	}
	return fmt.Errorf("%q is a pattern; name a file or a directory, or write a rule for %s in permissions", text, rule.Tool)
}

// texts returns the elements of a list of strings. Of a list of another type that denies,
// these are the texts in it; without any, nothing may run.
func (r *sandboxReader) texts(key string, value json.RawMessage, denies bool) (texts []string, err error) {
	if json.Unmarshal(value, &texts) == nil {
		return texts, nil
	}
	if !denies {
		return nil, fmt.Errorf("%.80s is not a list of strings", value)
	}
	var elements []any
	if json.Unmarshal(value, &elements) != nil {
		elements = []any{strings.Trim(string(value), `"`)}
		if value[0] != '"' {
			elements = nil
		}
	}
	texts = nil
	for _, e := range elements {
		if text, ok := e.(string); ok {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		r.refuse(r.file.Path, key+" is not a list of strings")
	}
	return texts, fmt.Errorf("%.80s is not a list of strings; its texts are denied", value)
}

func (r *sandboxReader) absolute(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok || path == "~" {
		return filepath.Join(r.home, strings.TrimPrefix(rest, "~"))
	}
	if path = strings.Replace(path, "//", "/", 1); filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(r.base(), path)
}

func (r *sandboxReader) limit(key string, value json.RawMessage) (bool, error) {
	if !slices.Contains([]string{"cpuSeconds", "fileSizeMB", "memoryMB", "openFiles", "processes", "totalMemoryMB"}, key) {
		return false, nil
	}
	var n uint32
	if err := json.Unmarshal(value, &n); err != nil {
		return true, fmt.Errorf("%.80s is not a number; 0 is no limit", value)
	}
	r.limits[key] = uint64(n)
	return true, nil
}

// add adds what a file says to that of weaker files.
func (s *Sandbox) add(r *sandboxReader) {
	for _, err := range r.wrong {
		s.Notes = append(s.Notes, err.Error())
	}
	s.Notes = append(s.Notes, r.remarks...)
	s.DenyRead, s.DenyWrite = append(s.DenyRead, r.paths["denyRead"]...), append(s.DenyWrite, r.paths["denyWrite"]...)
	loose := r.isLoose() && !r.ofDirectory()
	s.addKeys(r, loose)
	if loose {
		s.AllowRead, s.AllowWrite = append(s.AllowRead, r.paths["allowRead"]...), append(s.AllowWrite, r.paths["allowWrite"]...)
	} else if len(r.paths["allowRead"])+len(r.paths["allowWrite"]) > 0 {
		s.Notes = append(s.Notes, r.file.Path+": what sandbox.filesystem allows is not in force: it counts in your own settings only")
	}
	processes := uint64(s.Totals.Processes)
	const mb = 1 << 20
	for key, limit := range map[string]struct {
		of   *uint64
		unit uint64
	}{
		"cpuSeconds": {&s.Limits.CPU, 1}, "fileSizeMB": {&s.Limits.FileSize, mb}, "memoryMB": {&s.Limits.Memory, mb}, "openFiles": {&s.Limits.OpenFiles, 1},
		"processes": {&processes, 1}, "totalMemoryMB": {&s.Totals.Memory, mb},
	} {
		n, ok := r.limits[key]
		n *= limit.unit
		if lower := n > 0 && (*limit.of == 0 || n < *limit.of); ok && (loose || lower) {
			*limit.of = n
		}
	}
	s.Totals.Processes = int(processes)
}

// Apply makes the changes in a place where commands run.
func (s Sandbox) Apply(p sandbox.Place) sandbox.Place {
	p.Reads, p.Writes = slices.Concat(p.Reads, s.AllowRead), slices.Concat(p.Writes, s.AllowWrite)
	p.Hidden, p.Fixed = slices.Concat(p.Hidden, s.DenyRead), slices.Concat(p.Fixed, s.DenyWrite)
	p.Limits, p.Totals = s.Limits, s.Totals
	return p
}
