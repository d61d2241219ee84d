package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/actorswarm/swarm/internal/nolink"
	"github.com/actorswarm/swarm/tool"
)

const (
	maxGlob   = 100 // files in an answer
	globLimit = 20 * time.Second
)

const globSchema = `{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{` +
	`"pattern":{"type":"string","description":"For example **/*.go, cmd/*/main.go or **/*.{ts,tsx}"},` +
	`"path":{"type":"string","description":"The folder to look in; the working directory if left out"}}}`

const globDescription = `Finds files by name, newest first, at most 100. ** stands for any number of folders; without it a pattern looks in one folder only.
Ignored files are found too, .git is not looked into. To find files by content use Grep.`

var errTookTooLong = errors.New("the search took too long")

type globTool struct {
	at       place
	conceals func(path string) bool // may be nil
}

type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

func (*globTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "Glob", Description: globDescription, Schema: json.RawMessage(globSchema),
		ReadOnly: true, Parallel: true,
	}
}

func (t *globTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in globInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	g, err := t.search(c, in)
	if err != nil {
		return failure(err), nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, globLimit, errTookTooLong)
	defer cancel()
	err = g.walk(ctx)
	if err != nil && !errors.Is(err, errTookTooLong) {
		return failure(err), nil
	}
	return g.result(t.at, err != nil), nil
}

func (t *globTool) search(c tool.Call, in globInput) (*globSearch, error) {
	root, err := t.at.abs(cmp.Or(in.Path, "."))
	if err != nil {
		return nil, err
	}
	pattern := strings.TrimPrefix(filepath.ToSlash(in.Pattern), "./")
	if pattern == "" || !doublestar.ValidatePattern(pattern) {
		return nil, fmt.Errorf("the pattern %q is not valid; see for an unclosed [ or {", in.Pattern)
	}
	fixed, rest := doublestar.SplitPattern(pattern)
	if filepath.IsAbs(fixed) {
		root = fixed
	} else {
		root = filepath.Join(root, fixed)
	}
	root, real, err := t.at.locate(c, root)
	if err != nil {
		return nil, err
	}
	return &globSearch{root: root, real: real, pattern: rest, conceals: t.conceals}, nil
}

// globSearch is one walk for one pattern below a directory.
type globSearch struct {
	root, real string // as asked for, and with links followed
	pattern    string
	conceals   func(path string) bool // may be nil

	found []found // at most twice maxGlob, pruned to the newest
	total int
	left  int // files that are concealed
}

type found struct {
	rel  string
	when time.Time
}

func (g *globSearch) walk(ctx context.Context) error {
	if err := isFolder(g.real); err != nil {
		return err
	}
	depth := strings.Count(g.pattern, "/")
	deep := strings.Contains(g.pattern, "**")
	return nolink.Walk(g.real, func(rel string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fmt.Errorf("looking for %s was stopped: %w", g.pattern, context.Cause(ctx))
		}
		if rel == "." {
			return nil
		}
		if d != nil && d.IsDir() {
			if err != nil || versionControl(d.Name()) || !deep && strings.Count(rel, "/") >= depth {
				return fs.SkipDir // an unreadable directory hides its own files only
			}
			return nil
		}
		if err == nil && doublestar.MatchUnvalidated(g.pattern, rel) {
			g.add(rel, d)
		}
		return nil
	})
}

func (g *globSearch) add(rel string, d fs.DirEntry) {
	info, err := d.Info()
	if err != nil {
		return // removed since it was listed
	}
	if g.conceals != nil && g.conceals(filepath.Join(g.root, rel)) {
		g.left++
		return
	}
	g.total++
	g.found = append(g.found, found{rel: rel, when: info.ModTime()})
	if len(g.found) >= 2*maxGlob {
		g.prune()
	}
}

func (g *globSearch) prune() {
	slices.SortFunc(g.found, func(a, b found) int {
		return cmp.Or(b.when.Compare(a.when), cmp.Compare(a.rel, b.rel))
	})
	g.found = g.found[:min(len(g.found), maxGlob)]
}

func (g *globSearch) result(at place, cut bool) tool.Result {
	g.prune()
	var b strings.Builder
	for _, f := range g.found {
		fmt.Fprintln(&b, at.show(filepath.Join(g.root, f.rel)))
	}
	switch {
	case cut:
		fmt.Fprintf(&b, "(The search was ended after %v with %d files found; narrow the pattern or the path.)", globLimit, g.total)
	case g.total > maxGlob:
		fmt.Fprintf(&b, "(The newest %d of %d files; narrow the pattern for the others.)", maxGlob, g.total)
	case g.total == 0:
		fmt.Fprintf(&b, "No files match %s in %s.", g.pattern, g.root)
		if !strings.Contains(g.pattern, "**") {
			fmt.Fprintf(&b, " Write **/%s to look in subfolders too.", g.pattern)
		}
	}
	return tool.Result{Text: withConcealed(b.String(), g.left)}
}

// withConcealed adds to the answer of a search that it leaves n files out.
func withConcealed(text string, n int) string {
	text = strings.TrimSuffix(text, "\n")
	switch n {
	case 0:
		return text
	case 1:
		return text + "\n(A permission rule conceals 1 file.)"
	}
	return fmt.Sprintf("%s\n(Permission rules conceal %d files.)", text, n)
}

func versionControl(name string) bool { return name == ".git" || name == ".hg" || name == ".svn" }

func isFolder(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s", path)
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", path)
	}
	return nil
}
