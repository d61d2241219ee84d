package defedit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm/defs"
)

// Finding is one problem at one place of a definition.
type Finding struct {
	Path string `json:"path"`
	// Line is counted from 1; 0 means the file as a whole.
	Line  int    `json:"line,omitempty"`
	Agent string `json:"agent,omitempty"`
	// Severity is "error" if the definition is not loaded or no agent of it can start,
	// "note" for what is no mistake, otherwise "warning".
	Severity string `json:"severity"`
	Text     string `json:"text"`
	// Corrected is how a repaired entry should be written.
	Corrected string `json:"corrected,omitempty"`
}

// Report is the result of Lint.
type Report struct {
	Files    int       `json:"files"`
	Agents   int       `json:"agents"`
	Repaired int       `json:"repaired"` // entries that were not valid YAML
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Findings []Finding `json:"findings"`
}

// Checks are what is checked beside the form of a definition; nil checks nothing.
type Checks struct {
	Problems, Notes func(defs.Definition) []defs.Problem
}

// Lint checks files, and the Markdown files below directories in the order of their
// paths. A file without frontmatter is an error only if it was named itself. The error
// names a path that does not exist.
func Lint(paths []string, c Checks) (Report, error) {
	r := Report{Findings: []Finding{}}
	for _, path := range paths {
		files, err := Files(path)
		if err != nil {
			return r, err
		}
		for _, file := range files {
			r.lintFile(file, file == path, c)
		}
	}
	return r, nil
}

// LintSet returns the problems of a set that defs.Load has read, and then the notes.
func LintSet(set *defs.Set, c Checks) Report {
	r := Report{Findings: []Finding{}, Agents: len(set.All)}
	files := map[string]bool{}
	for _, d := range set.All {
		files[d.Path] = true
	}
	var own []defs.Problem
	for i, p := range set.Problems {
		files[p.Path] = true
		own = append(own, p)
		if i+1 == len(set.Problems) || set.Problems[i+1].Path != p.Path {
			r.add(own, corrections(p.Path, own))
			own = nil
		}
	}
	r.Files = len(files)
	for _, d := range set.All {
		r.note(d, c)
	}
	return r
}

// Files returns path itself if it is a file, and the Markdown files below it if
// it is a folder.
func Files(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read; name a definition or a folder of them: %w", path, cause(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("%s cannot be read; make it readable: %w", p, cause(err))
		}
		if !e.IsDir() && strings.EqualFold(filepath.Ext(p), ".md") {
			files = append(files, p)
		}
		return nil
	})
	return files, err
}

// cause removes the path from an error whose message has it already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func (r *Report) lintFile(path string, named bool, c Checks) {
	r.Files++
	src, err := defs.ReadFile(path)
	if err != nil {
		text := fmt.Sprintf("cannot be read: %v", cause(err))
		r.add([]defs.Problem{{Path: path, Text: text, Fatal: true}}, nil)
		return
	}
	d, problems, err := defs.Options{Check: c.Problems}.Parse(path, src, defs.Project)
	if err == nil {
		r.Agents++
	}
	if errors.Is(err, defs.ErrNotAgent) && !named {
		for i := range problems {
			problems[i].Fatal = false
		}
	}
	r.add(problems, correct(src, problems))
	if err == nil {
		r.note(d, c)
	}
}

// note adds what of a definition is no mistake and worth knowing.
func (r *Report) note(d defs.Definition, c Checks) {
	if c.Notes == nil {
		return
	}
	for _, p := range c.Notes(d) {
		r.Findings = append(r.Findings, Finding{Path: p.Path, Line: p.Line, Agent: p.Agent, Severity: "note", Text: p.Text})
	}
}

// add counts the problems of one file. corrected holds text by line.
func (r *Report) add(problems []defs.Problem, corrected map[int]string) {
	for _, p := range problems {
		f := Finding{Path: p.Path, Line: p.Line, Agent: p.Agent, Severity: "warning", Text: p.Text}
		if isRepair(p) {
			r.Repaired++
			f.Corrected = corrected[p.Line]
		}
		if p.Fatal || p.Unusable {
			f.Severity = "error"
			r.Errors++
		} else {
			r.Warnings++
		}
		r.Findings = append(r.Findings, f)
	}
}

func isRepair(p defs.Problem) bool { return strings.Contains(p.Text, "read as: ") }

// corrections is correct for a file on disk. It returns nil if the file does not exist.
func corrections(path string, problems []defs.Problem) map[int]string {
	for _, p := range problems {
		if isRepair(p) {
			src, err := defs.ReadFile(path)
			if err != nil {
				return nil // it has no file of its own, such as in settings; the text names it
			}
			return correct(src, problems)
		}
	}
	return nil
}

// correct returns, by line, how the repaired entries should be written.
func correct(src []byte, problems []defs.Problem) map[int]string {
	out := map[int]string{}
	for _, p := range problems {
		if !isRepair(p) {
			continue
		}
		fields, err := defs.ReadFields(src)
		if err != nil {
			return nil
		}
		for _, f := range fields {
			e := entry{Field: f}
			if text, _, err := e.text(e.name(defs.Project)); f.Repaired && err == nil {
				out[f.Line] = text
			}
		}
		return out
	}
	return nil
}
