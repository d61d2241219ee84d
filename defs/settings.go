package defs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// settings is the part of one settings file that is about agents.
type settings struct {
	path     string
	from     Source
	distrust bool
	root     *yaml.Node
}

// readSettings reads the settings files from the weakest to the strongest.
func (l *Loader) readSettings(project []place) []settings {
	var all []settings
	read := func(from Source, distrust bool, path ...string) {
		s := settings{path: filepath.Join(path...), from: from, distrust: distrust}
		if l.readSettingsFile(&s) {
			all = append(all, s)
		}
	}
	user := l.o.userDir()
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
	if l.o.ManagedDir != "" {
		read(Managed, false, l.o.ManagedDir, "managed-settings.json")
		drop := filepath.Join(l.o.ManagedDir, "managed-settings.d")
		l.recordState(drop)
		more, err := filepath.Glob(filepath.Join(drop, "*.json"))
		if err != nil { // a directory that is itself a bad pattern
			l.problems = append(l.problems, Problem{Path: drop, Source: Managed, Text: err.Error(), Fatal: true, cause: err})
		}
		for _, path := range more {
			read(Managed, false, path)
		}
	}
	return all
}

// readSettingsFile returns false for a missing or broken file.
func (l *Loader) readSettingsFile(s *settings) bool {
	l.recordState(s.path)
	src, err := readLimited(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err == nil && len(src) > MaxFileSize {
		err = fmt.Errorf("it is larger than %d bytes", MaxFileSize)
	}
	if err == nil {
		text, _ := decodeText(src)
		s.root, err = parseJSON(text)
	}
	if err == nil && s.root.Kind != yaml.MappingNode {
		err = errors.New("it is not an object")
	}
	if err != nil {
		l.problems = append(l.problems, Problem{
			Path: s.path, Source: s.from, Line: lineOf(err), Text: fmt.Sprintf("the settings cannot be read, so their agents are missing: %v", withoutLine(err)), Fatal: true, cause: err,
		})
		return false
	}
	return true
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
	p := parser{path: s.path, from: s.from, untrusted: s.distrust}
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

// SettingsFile is one settings file that could be read.
type SettingsFile struct {
	Path   string
	Source Source
	// Untrusted is set if the file belongs to a repository that is not trusted.
	Untrusted bool

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
		files = append(files, SettingsFile{Path: s.path, Source: s.from, Untrusted: s.distrust, root: s.root})
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
