package defs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fileState is the state of a path when it was read.
type fileState struct {
	info fs.FileInfo // nil if it did not exist
	// racy is set if the path was written so shortly before that a further change may
	// not change its times.
	racy bool
}

// racyWindow exceeds the resolution of file times, except on file systems that count in
// seconds, where the size decides.
const racyWindow = 50 * time.Millisecond

func statFile(path string) fileState {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{}
	}
	return fileState{info: info, racy: time.Since(info.ModTime()) < racyWindow}
}

// same reports whether nothing has changed between two states.
func (d fileState) same(now fileState) bool {
	if d.info == nil || now.info == nil {
		return d.info == nil && now.info == nil
	}
	return !d.racy && d.info.Size() == now.info.Size() && d.info.Mode() == now.info.Mode() &&
		d.info.ModTime().Equal(now.info.ModTime()) && os.SameFile(d.info, now.info)
}

// recordState records the state of a path that the set depends on.
func (l *Loader) recordState(path string) fileState {
	d := statFile(path)
	l.deps[path] = d
	return d
}

// addTree reads one directory, or one file. It parses files in parallel; the result is in
// the order of their paths.
func (l *Loader) addTree(r root) {
	files := []string{r.only}
	if r.only == "" {
		w := walker{seen: map[string]string{}, visit: func(dir string) { l.recordState(dir) }}
		w.root(r.dir)
		files = w.files
		l.problems = append(l.problems, stamped(w.problems, r.from)...)
	}
	var defs []Definition
	for _, res := range l.parseAll(r, files) {
		l.problems = append(l.problems, res.problems...)
		if res.ok {
			defs = append(defs, res.d)
		}
	}
	l.layers = append(l.layers, layer{r.from, defs})
}

func stamped(ps []Problem, from Source) []Problem {
	for i := range ps {
		ps[i].Source = from
	}
	return ps
}

// parseAll parses files that an earlier Load has not parsed.
func (l *Loader) parseAll(r root, files []string) []*parsed {
	results := make([]*parsed, len(files))
	inParallel(len(files), func(i int) {
		key := r.key(files[i])
		now := statFile(files[i]) // before reading, so that a change in between is noticed later
		if known := l.old[key]; known != nil && known.dep.same(now) {
			results[i] = known
			return
		}
		results[i] = r.parse(files[i], l.o.Check)
		results[i].dep, results[i].root = now, r
	})
	for i, res := range results {
		key := r.key(files[i])
		if _, twice := l.deps[files[i]]; twice {
			key = fileKey{} // its content is not in the cache
		}
		l.byPath[files[i]] = key
		l.cache[r.key(files[i])], l.deps[files[i]] = res, res.dep
	}
	return results
}

func (r root) key(path string) fileKey {
	k := fileKey{path: path, from: r.from, trust: !r.distrust, prefix: r.prefixOf(path)}
	if r.plugin != nil {
		k.plugin = r.plugin.identity
	}
	return k
}

// prefixOf returns what the directories between the root and a plugin's file add to its
// name.
func (r root) prefixOf(path string) string {
	if r.plugin == nil || r.only != "" {
		return r.prefix
	}
	rel, err := filepath.Rel(r.dir, filepath.Dir(path))
	if err != nil || rel == "." {
		return r.prefix
	}
	return r.prefix + strings.ReplaceAll(filepath.ToSlash(rel), "/", ":") + ":"
}

// parse is Parse for a file on disk; documentation beside the agents causes a warning
// only.
func (r root) parse(path string, check func(Definition) []Problem) *parsed {
	p := &parser{path: path, from: r.from, untrusted: r.distrust, plugin: r.plugin, check: check}
	src, err := ReadFile(path)
	if err != nil {
		p.fail(0, err, "cannot be read: %v", cause(err))
		return &parsed{problems: p.problemsAfter(p.outcome())}
	}
	d, err := p.parse(src)
	if errors.Is(err, ErrNotAgent) {
		for i := range p.problems {
			p.problems[i].Fatal = false
		}
	}
	if prefix := r.prefixOf(path); err == nil && prefix != "" {
		d.Name = prefix + d.Name
		for i := range p.problems {
			p.problems[i].Agent = d.Name
		}
	}
	return &parsed{d: d, problems: p.problems, ok: err == nil}
}

// problemsAfter returns the problems once the outcome has been added to them.
func (p *parser) problemsAfter(error) []Problem { return p.problems }

// addFlag reads --agents, which is JSON or the path of a file with it.
func (l *Loader) addFlag() error {
	text := strings.TrimSpace(l.o.FlagJSON)
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(text, "{"):
		defs, ps, err := l.o.parseFlag(FlagPath, text)
		l.add(Flag, defs, ps)
		return err
	}
	path := text
	if !filepath.IsAbs(path) && l.o.Cwd != "" {
		path = filepath.Join(l.o.Cwd, path)
	}
	l.recordState(path)
	src, err := ReadFile(path)
	if err != nil {
		return fmt.Errorf("--agents is neither a JSON object nor a readable file: %w", err)
	}
	defs, ps, err := l.o.parseFlag(path, string(src))
	l.add(Flag, defs, ps)
	return err
}
