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
	"strings"
	"time"

	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/tool"
)

const (
	grepHead  = 250    // results in an answer that asks for no number
	grepBytes = 30_000 // of an answer
	grepLine  = 500    // characters shown of a line
	grepLimit = 60 * time.Second
)

const grepSchema = `{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{` +
	`"pattern":{"type":"string","description":"Regular expression without look-around or back-references; escape literal braces"},` +
	`"path":{"type":"string","description":"File or folder to search; the working directory if left out"},` +
	`"glob":{"type":"string","description":"Only files that match, for example *.go, src/**/*.{ts,tsx} or !*_test.go"},` +
	`"type":{"type":"string","description":"Only files of a language, for example go, py, js, rust"},` +
	`"output_mode":{"type":"string","enum":["files_with_matches","content","count"],"description":"What to show; files_with_matches if left out"},` +
	`"-i":{"type":"boolean","description":"Ignore letter case"},` +
	`"-n":{"type":"boolean","description":"Line numbers in content mode; on if left out"},` +
	`"-o":{"type":"boolean","description":"Only the matching part of lines, in content mode"},` +
	`"-A":{"type":"integer","minimum":0,"description":"Lines after each match, in content mode"},` +
	`"-B":{"type":"integer","minimum":0,"description":"Lines before each match, in content mode"},` +
	`"-C":{"type":"integer","minimum":0,"description":"Lines before and after each match, in content mode"},` +
	`"context":{"type":"integer","minimum":0,"description":"The same as -C"},` +
	`"head_limit":{"type":"integer","minimum":0,"description":"How many results to show; 250 if left out, 0 for all"},` +
	`"offset":{"type":"integer","minimum":0,"description":"How many results to leave out first"},` +
	`"multiline":{"type":"boolean","description":"Let a match span lines and . match a line end"}}}`

const grepDescription = `Searches the content of files with a regular expression. Ignored and binary files and .git are left out.
Results are in the order of paths; output_mode chooses between file names, matching lines and counts per file.`

type grepTool struct {
	at       place
	conceals func(path string) bool // may be nil
	ripgrep  string                 // path of the rg program, "" to search in process
}

type grepInput struct {
	Pattern   string `json:"pattern"`
	Path      string `json:"path"`
	Glob      string `json:"glob"`
	Type      string `json:"type"`
	Mode      string `json:"output_mode"`
	Fold      bool   `json:"-i"`
	Numbers   *bool  `json:"-n"`
	Only      bool   `json:"-o"`
	After     int    `json:"-A"`
	Before    int    `json:"-B"`
	Around    int    `json:"-C"`
	Context   int    `json:"context"`
	Head      *int   `json:"head_limit"`
	Offset    int    `json:"offset"`
	Multiline bool   `json:"multiline"`
}

func (*grepTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "Grep", Description: grepDescription, Schema: json.RawMessage(grepSchema),
		ReadOnly: true, Parallel: true,
	}
}

func (t *grepTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in grepInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	q, err := t.query(c, in)
	if err != nil {
		return failure(err), nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, grepLimit, errTookTooLong)
	defer cancel()
	out := &answer{offset: in.Offset, head: grepHead}
	if in.Head != nil {
		out.head = *in.Head
	}
	err = t.search(ctx, q, out)
	if err != nil && !errors.Is(err, errTookTooLong) {
		return failure(err), nil
	}
	return out.result(err != nil, q.left), nil
}

// query is a search ready to run, by either engine.
type query struct {
	pattern   string
	at        place
	root      string   // folder in which the search runs, as asked for
	real      string   // the same with its links followed
	only      string   // the one file of root to search, "" for all
	globs     []string // gitignore patterns, "!" excludes
	types     []string // patterns of which one must match, nil for any
	mode      string
	fold      bool
	numbers   bool
	parts     bool // -o
	before    int
	after     int
	multiline bool
	env       []string // of programs the search runs

	conceals  func(path string) bool // may be nil
	concealed map[string]bool        // what conceals has returned, by path below root
	left      int                    // files with matches that are concealed
}

// conceal reports whether the search, of a folder, must not show a file with matches.
func (q *query) conceal(rel string) bool {
	if q.conceals == nil || q.only != "" {
		return false
	}
	hit, known := q.concealed[rel]
	if known {
		return hit
	}
	if hit = q.conceals(filepath.Join(q.root, filepath.FromSlash(rel))); hit {
		q.left++
	}
	if q.concealed == nil {
		q.concealed = map[string]bool{}
	}
	q.concealed[rel] = hit
	return hit
}

func (t *grepTool) query(c tool.Call, in grepInput) (*query, error) {
	if err := checkPattern(in.Pattern); err != nil {
		return nil, err
	}
	around := max(in.Around, in.Context, 0)
	q := &query{
		pattern: in.Pattern, at: t.at, globs: splitGlobs(in.Glob), mode: cmp.Or(in.Mode, modeFiles),
		fold: in.Fold, numbers: in.Numbers == nil || *in.Numbers, parts: in.Only, multiline: in.Multiline,
		before: max(in.Before, around), after: max(in.After, around), env: childenv.Of(t.at.getenv, nil), conceals: t.conceals,
	}
	switch q.mode {
	case modeFiles, modeContent, modeCount:
	default:
		return nil, fmt.Errorf("output_mode %q is not known; use %s, %s or %s", q.mode, modeFiles, modeContent, modeCount)
	}
	if q.parts {
		q.before, q.after = 0, 0
	}
	if err := q.ofType(in.Type); err != nil {
		return nil, err
	}
	return q, q.in(c, cmp.Or(in.Path, "."))
}

// The values of output_mode.
const (
	modeFiles   = "files_with_matches"
	modeContent = "content"
	modeCount   = "count"
)

// in sets the place of the search.
func (q *query) in(c tool.Call, path string) error {
	path, real, err := q.at.locate(c, path)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s", q.at.missing(path))
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		q.root, q.real = path, real
		return nil
	}
	q.root, q.real, q.only = filepath.Dir(path), filepath.Dir(real), filepath.Base(real)
	return checkKind(real)
}

// display names a file below the root for the model.
func (q *query) display(rel string) string {
	if q.only != "" {
		rel = filepath.Base(rel)
	}
	return q.at.show(filepath.Join(q.root, filepath.FromSlash(rel)))
}

// search uses ripgrep, or searches in process if there is none or it refuses a pattern
// that Go accepts.
func (t *grepTool) search(ctx context.Context, q *query, out *answer) error {
	re, compileErr := compile(q)
	if t.ripgrep != "" {
		err := ripgrep(ctx, t.ripgrep, q, out.add)
		var bad *patternError
		if !errors.As(err, &bad) || compileErr != nil {
			return err
		}
	}
	if compileErr != nil {
		return compileErr
	}
	return searchFiles(ctx, q, re, out.add)
}

// answer collects results up to the limits of an answer.
type answer struct {
	offset, head int
	seen, shown  int
	cut          bool // there were more
	text         strings.Builder
}

// add adds a result and reports whether more are wanted.
func (a *answer) add(line string) bool {
	if a.seen++; a.seen <= a.offset {
		return true
	}
	if a.head > 0 && a.shown >= a.head || a.text.Len()+len(line) > grepBytes && a.shown > 0 {
		a.cut = true
		return false
	}
	a.shown++
	a.text.WriteString(line + "\n")
	return true
}

func (a *answer) result(timeout bool, concealed int) tool.Result {
	switch {
	case timeout:
		fmt.Fprintf(&a.text, "(The search was ended after %v; narrow it with path, glob or type.)", grepLimit)
	case a.cut:
		fmt.Fprintf(&a.text, "(There is more; go on with offset %d or narrow the search.)", a.offset+a.shown)
	case a.seen == 0:
		a.text.WriteString("No matches found.")
	case a.shown == 0:
		fmt.Fprintf(&a.text, "No matches after offset %d; there are %d.", a.offset, a.seen)
	}
	return tool.Result{Text: withConcealed(a.text.String(), concealed)}
}
