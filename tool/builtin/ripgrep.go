package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/actorswarm/swarm/internal/sandbox"
)

func findRipgrep() string {
	path, err := exec.LookPath("rg")
	if err != nil {
		return ""
	}
	return path
}

// errAnswerFull ends a search whose answer is full.
var errAnswerFull = errors.New("the answer is full")

// ripgrep runs rg in the root of the query and passes its results to emit, in the form of
// the search in process.
func ripgrep(ctx context.Context, program string, q *query, emit func(string) bool) error {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(run, program, q.ripgrepArgs(ctx)...)
	var complaint bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = q.real, q.env, &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run rg: %w", err)
	}
	proc, err := sandbox.Start(cmd, q.profile(ctx))
	if err != nil {
		return fmt.Errorf("run rg: %w", errors.Join(err, context.Cause(ctx)))
	}
	p := ripgrepOutput{q: q, r: bufio.NewReaderSize(out, 64<<10)}
	any, readErr := p.each(func(line string) bool {
		if emit(line) {
			return true
		}
		cancel(errAnswerFull)
		return false
	})
	waitErr := proc.Wait()
	if err := proc.Close(); err != nil {
		return fmt.Errorf("run rg: %w", err)
	}
	switch {
	case errors.Is(context.Cause(run), errAnswerFull):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the search was stopped: %w", context.Cause(ctx))
	case readErr != nil:
		return fmt.Errorf("read what rg found: %w", readErr)
	}
	return q.exitError(waitErr, any, complaint.String())
}

// profile returns the profile of rg: a link that is put in place of a directory after
// the search was decided about leads it nowhere, as it may read the directory of the search
// and what inspect lets every command read.
func (q *query) profile(ctx context.Context) sandbox.Profile {
	place := sandbox.Place{Home: variable(q.env, "HOME"), Getenv: func(name string) string { return variable(q.env, name) }}
	if sandbox.Probe().Enforces(sandbox.Inspect) != nil {
		return place.Profile(sandbox.Open)
	}
	p := place.Profile(sandbox.Inspect)
	p.Read = append(p.Read, q.real) // as it is: it has no link, and what has become one is not to be read
	p.Read = append(p.Read, q.ignoreFiles(ctx)...)
	return p
}

// ignoreFiles returns the files outside of the root that rg reads besides: those of the
// repository around it, and the user's own.
func (q *query) ignoreFiles(ctx context.Context) []string {
	top, inside := repository(q.real)
	if !inside {
		return nil
	}
	var files []string
	for dir := q.real; dir != top; {
		dir = filepath.Dir(dir)
		files = append(files, filepath.Join(dir, ".gitignore"))
	}
	ask := [][]string{{"config", "--global", "--type=path", "core.excludesFile"}}
	if info, err := os.Lstat(filepath.Join(top, ".git")); err == nil && info.IsDir() {
		files = append(files, filepath.Join(top, ".git", "info", "exclude"))
	} else {
		ask = append(ask, []string{"rev-parse", "--git-path", "info/exclude"})
	}
	for _, args := range ask {
		if out, ok := runGit(ctx, q.real, q.env, args...); ok {
			file := strings.TrimSpace(string(out))
			if !filepath.IsAbs(file) {
				file = filepath.Join(q.real, file)
			}
			files = append(files, file)
		}
	}
	return files
}

// exitError interprets rg's exit code: 1 is no match, 2 an error, which matters only if
// nothing was found, as it may concern one unreadable file.
func (q *query) exitError(err error, any bool, complaint string) error {
	var exit *exec.ExitError
	if err == nil || any || errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil
	}
	complaint = strings.TrimSpace(complaint)
	if strings.HasPrefix(complaint, "regex parse error") || strings.Contains(complaint, "is not allowed in a regex") {
		return &patternError{pattern: q.pattern, why: complaint}
	}
	if complaint == "" {
		return nil // files that could not be read, of which --no-messages is silent
	}
	return fmt.Errorf("rg: %s", complaint)
}

func (q *query) ripgrepArgs(ctx context.Context) []string {
	args := []string{
		"--no-config", "--color=never", "--no-heading", "--with-filename", "--null", "--hidden", "--no-messages",
		"--no-ignore-dot", "--no-require-git", "--sort=path", "--max-filesize=" + strconv.Itoa(maxText),
	}
	if q.isOutsideRepository(ctx) {
		args = append(args, "--no-ignore-parent")
	}
	args = slices.Concat(args, q.modeArgs(), q.fileArgs())
	target := "./" + q.only
	return append(args, "--regexp="+q.pattern, "--", target)
}

// isOutsideRepository reports whether ignore files above the root do not apply: there is no
// repository around it, or the repository ignores the root, which the caller named.
func (q *query) isOutsideRepository(ctx context.Context) bool {
	top, inside := repository(q.real)
	if !inside || top == q.real {
		return true
	}
	_, ignored := runGit(ctx, q.real, q.env, "check-ignore", "-q", ".")
	return ignored
}

func (q *query) modeArgs() []string {
	var args []string
	if q.fold {
		args = append(args, "--ignore-case")
	}
	if q.multiline {
		args = append(args, "--multiline", "--multiline-dotall")
	}
	switch q.mode {
	case modeFiles:
		return append(args, "--files-with-matches")
	case modeCount:
		return append(args, "--count")
	}
	if q.parts {
		args = append(args, "--only-matching")
	}
	return append(args, "--line-number", "--max-columns="+strconv.Itoa(4*grepLine), "--max-columns-preview",
		"--before-context="+strconv.Itoa(q.before), "--after-context="+strconv.Itoa(q.after))
}

// fileArgs narrows the files rg searches. What a glob selects is given as a file
// type, as a --glob that selects would also bring in ignored files; globs a type
// cannot say, and the combination of both, are left to selects.
func (q *query) fileArgs() []string {
	var args, wanted []string
	for _, g := range q.globs {
		if strings.HasPrefix(g, "!") {
			args = append(args, "--glob="+g)
		} else {
			wanted = append(wanted, g)
		}
	}
	for _, name := range []string{".git", ".hg", ".svn"} {
		args = append(args, "--glob=!"+name)
	}
	if q.types != nil {
		wanted = q.types
	}
	if len(wanted) == 0 || slices.ContainsFunc(wanted, func(g string) bool { return strings.ContainsAny(g, `/\`) }) {
		return args
	}
	for _, g := range wanted {
		args = append(args, "--type-add=wanted:"+g)
	}
	return append(args, "--type=wanted")
}

// ripgrepOutput parses what rg prints: every file name ends in a NUL.
type ripgrepOutput struct {
	q *query
	r *bufio.Reader
}

// each passes every result to emit until emit returns false or the output ends; any reports
// whether there was a result.
func (p ripgrepOutput) each(emit func(string) bool) (any bool, err error) {
	end := byte('\n')
	if p.q.mode == modeFiles {
		end = 0
	}
	shown, apart := false, false
	for {
		raw, err := p.r.ReadBytes(end)
		if len(raw) == 0 && err == io.EOF {
			return any, nil
		}
		if err != nil && err != io.EOF {
			return any, err
		}
		any = true
		text := string(bytes.TrimSuffix(raw, []byte{end}))
		if text == groupEnd && end == '\n' {
			apart = shown // used when the next group is wanted
			continue
		}
		line, ok := p.result(text)
		if !ok {
			continue
		}
		if apart && !emit(groupEnd) || !emit(line) {
			return any, nil
		}
		shown, apart = true, false
	}
}

// result converts a record of rg to a result; ok is false for other lines, such as a warning
// about a binary file, and for unwanted files.
func (p ripgrepOutput) result(raw string) (string, bool) {
	name, rest, ok := strings.Cut(raw, "\x00")
	name = strings.TrimPrefix(name, "./")
	if !ok && p.q.mode != modeFiles || p.q.only == "" && !p.q.selects(name) || p.q.conceal(name) {
		return "", false
	}
	switch p.q.mode {
	case modeFiles:
		return p.q.display(name), true
	case modeCount:
		return p.q.display(name) + ":" + rest, true
	}
	digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	number, err := strconv.Atoi(rest[:max(digits, 0)])
	if err != nil || p.q.parts && digits == len(rest)-1 {
		return "", false // no record, or an empty match
	}
	return p.q.line(p.q.display(name), number, rest[digits] == ':', []byte(rest[digits+1:])), true
}

// groupEnd separates groups of lines that are not adjacent.
const groupEnd = "--"

// line is a result in content mode.
func (q *query) line(name string, number int, match bool, text []byte) string {
	mark := "-"
	if match {
		mark = ":"
	}
	shown := clipLine(bytes.TrimSuffix(text, []byte("\r")), 0, grepLine)
	if !q.numbers {
		return name + mark + shown
	}
	return name + mark + strconv.Itoa(number) + mark + shown
}
