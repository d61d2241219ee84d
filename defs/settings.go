package defs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// settings is the part of one settings file that is about agents.
type settings struct {
	path     string
	from     Source
	distrust bool
	text     string
	root     *yaml.Node // nil if the file is broken
	broken   *Problem   // why
	unsafe   string     // why others may have written the file, or ""
}

// readSettings reads the settings files from the weakest to the strongest. It leaves
// out those that do not exist.
func (l *Loader) readSettings(project []place) []settings {
	var all []settings
	read := func(from Source, distrust bool, path ...string) {
		s := settings{path: filepath.Join(path...), from: from, distrust: distrust}
		if l.readSettingsFile(&s) {
			all = append(all, s)
		}
	}
	user := l.o.UserDir()
	if user != "" {
		read(User, false, user, "settings.json")
	}
	for _, from := range []Source{Project, Local} {
		for _, p := range project {
			dir := filepath.Join(p.dir, ".claude")
			switch {
			case dir == user || p.added: // the user's own, or not a place of settings
			case from == Project:
				read(Project, p.distrust, dir, "settings.json")
			default:
				read(Local, p.distrust, dir, "settings.local.json")
			}
		}
	}
	if s, ok := l.flagSettings(); ok {
		all = append(all, s)
	}
	if l.o.ManagedDir != "" {
		read(Managed, false, l.o.ManagedDir, "managed-settings.json")
		for _, path := range l.managedParts() {
			read(Managed, false, path)
		}
	}
	return all
}

// managedParts lists the files of managed-settings.d in the order of their names.
func (l *Loader) managedParts() (paths []string) {
	dir := filepath.Join(l.o.ManagedDir, "managed-settings.d")
	l.recordState(dir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.problems = append(l.problems, Problem{Path: dir, Source: Managed, Text: fmt.Sprintf("the settings cannot be read: %v", cause(err)), Fatal: true, cause: err})
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// flagSettings returns the settings of Options.Settings, if there are any.
func (l *Loader) flagSettings() (settings, bool) {
	text := strings.TrimSpace(l.o.Settings)
	switch {
	case text == "":
		return settings{}, false
	case strings.HasPrefix(text, "{"):
		s := settings{path: SettingsFlagPath, from: Flag}
		l.parseSettings(&s, []byte(text))
		return s, true
	}
	if !filepath.IsAbs(text) && l.o.Cwd != "" {
		text = filepath.Join(l.o.Cwd, text)
	}
	s := settings{path: text, from: Flag}
	if !l.readSettingsFile(&s) {
		l.breakSettings(&s, fs.ErrNotExist)
	}
	return s, true
}

// SettingsFlagPath is the Path of settings given as text to --settings.
const SettingsFlagPath = "--settings"

// readSettingsFile reports false for a file that does not exist.
func (l *Loader) readSettingsFile(s *settings) bool {
	if state := l.recordState(s.path); state.info != nil && s.from != Flag { // the user has named that one
		s.unsafe = writableByOthers(state.info)
		if s.from == Managed && s.unsafe == "" {
			s.unsafe = replaceableByOthers(s.path)
		}
	}
	src, err := ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) && !l.isDanglingLink(s) {
		return false
	}
	if err == nil && len(src) > MaxFileSize {
		err = fmt.Errorf("it is larger than %d bytes", MaxFileSize)
	}
	if err != nil {
		l.breakSettings(s, err)
		return true
	}
	l.parseSettings(s, src)
	return true
}

// isDanglingLink reports managed settings that are a link to a file that does not
// exist: somebody wanted settings to be there.
func (l *Loader) isDanglingLink(s *settings) bool {
	if s.from != Managed {
		return false
	}
	_, err := os.Lstat(s.path)
	return err == nil
}

func (l *Loader) parseSettings(s *settings, src []byte) {
	text, bad := decodeText(src)
	s.text = text
	if bad > 0 {
		l.problems = append(l.problems, Problem{
			Path: s.path, Line: bad, Source: s.from, Text: "not UTF-8; the stray bytes are read as Windows-1252, save the file as UTF-8",
		})
	}
	root, err := parseJSON(s.text)
	if err == nil && root.Kind != yaml.MappingNode {
		err = &lineError{root.Line, errors.New("it is not an object")}
	}
	if err != nil {
		l.breakSettings(s, err)
		return
	}
	s.root = root
}

// breakSettings records why a settings file cannot be read.
func (l *Loader) breakSettings(s *settings, err error) {
	s.broken = &Problem{
		Path: s.path, Source: s.from, Line: lineOf(err), Fatal: true, cause: err,
		Text: fmt.Sprintf("the settings cannot be read, so nothing in them applies but the deny and ask rules that can be found, and hooks that are in force already: %v", withoutLine(err)),
	}
	l.problems = append(l.problems, *s.broken)
}

// addSettings reads the agents of a settings file, at the file's own rank.
func (l *Loader) addSettings(s settings) {
	agents := child(s.root, "agents")
	switch {
	case agents == nil:
		return
	case agents.Kind != yaml.MappingNode:
		l.problems = append(l.problems, Problem{
			Path: s.path, Line: agents.Line, Source: s.from, Fatal: true,
			Text: "agents must be an object keyed by agent name, not " + kind(agents),
		})
		return
	}
	p := parser{path: s.path, from: s.from, untrusted: s.distrust, check: l.o.Check}
	defs, ps := p.agents(agents)
	l.add(s.from, defs, ps)
}

// lineError is an error at a line of a text.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// withoutLine removes the line, which a Problem contains already.
func withoutLine(err error) error {
	var le *lineError
	if errors.As(err, &le) {
		return le.err
	}
	return cause(err)
}

func lineOf(err error) int {
	var le *lineError
	if errors.As(err, &le) {
		return le.line
	}
	return 0
}

// SettingsFile is one settings file.
type SettingsFile struct {
	Path   string
	Source Source
	// Untrusted is set if the file belongs to a repository that is not trusted.
	Untrusted bool
	// Broken is why the file cannot be read. Value finds nothing in such a file,
	// Entries what can be recognized.
	Broken *Problem
	// Unsafe says until when others may have written the file, as in "while everybody can
	// write the file"; "" if nobody can but the user and root.
	Unsafe string

	text string
	root *yaml.Node
}

// ReadSettings reads the settings files, from the weakest to the strongest. It returns the
// valid ones and the problems of others. It fails only if Options.Cwd cannot be made
// absolute.
func ReadSettings(o Options) ([]SettingsFile, []Problem, error) {
	if o.Simple {
		return nil, nil, nil
	}
	project, err := o.project()
	if err != nil {
		return nil, nil, err
	}
	l := NewLoader(o)
	l.deps = map[string]fileState{}
	var files []SettingsFile
	for _, s := range l.readSettings(project) {
		files = append(files, SettingsFile{Path: s.path, Source: s.from, Untrusted: s.distrust, Broken: s.broken, Unsafe: s.unsafe, text: s.text, root: s.root})
	}
	return files, l.problems, nil
}

// Value returns the JSON of one key, or nil if the file does not have it.
func (f SettingsFile) Value(key string) (json.RawMessage, error) {
	n := child(f.root, key)
	if n == nil {
		return nil, nil
	}
	raw, err := toJSON(n)
	if err != nil {
		return nil, fmt.Errorf("%s: line %d: %s cannot be read: %w", f.Path, n.Line, key, err)
	}
	return raw, nil
}

// SettingsStamp is the state of the settings files at one time, of those too that do not
// exist.
type SettingsStamp struct{ states map[string]fileState }

// StampSettings returns the state of the files that ReadSettings reads, and of more.
func StampSettings(o Options, more ...string) (SettingsStamp, error) {
	project, err := o.project()
	if err != nil {
		return SettingsStamp{}, err
	}
	l := NewLoader(o)
	l.deps = map[string]fileState{}
	l.readSettings(project)
	for _, path := range more {
		l.recordState(path)
	}
	return SettingsStamp{l.deps}, nil
}

// Changed reports whether one of the files may have changed since.
func (s SettingsStamp) Changed() bool {
	for path, before := range s.states {
		if !before.same(statFile(path)) {
			return true
		}
	}
	return false
}
