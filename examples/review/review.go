// Package review is a team that reviews a git repository: a lead and four teammates, defined
// in .claude/agents like any other agents. It is the demo of swarm, and an example of a
// program that brings its own team.
//
//	opts, err := review.Options(dir)
//	opts.Model, err = review.InstallScript(scripts) // or the name of a model
//	session, err := swarm.Open(ctx, opts)
//	result, err := session.Run(ctx, review.Prompt)
//
// The team works with any model. Without one it follows script.yaml, which makes every claim
// of its report from what tools returned and teammates wrote; it knows nothing of the
// repository.
package review

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/defs"
)

// Report is the file that the lead writes, in the directory under review.
const Report = "swarm-review.md"

// Prompt is what the user asks of the lead.
const Prompt = "Review the git repository in the working directory with your team, and write the report to " + Report + "."

const (
	folder = ".claude/agents"
	leader = "lead" // the definition that becomes the lead's system prompt
)

//go:embed .claude/agents/*.md
var files embed.FS

//go:embed script.yaml
var script []byte

// Script returns the scripted model's rules, in the format of docs/script-model.md.
func Script() []byte { return append([]byte(nil), script...) }

// InstallScript writes the script to a file in folder, which it makes if
// needed, and returns the model name for swarm.Options.Model. The file has to
// stay as long as the session may be resumed.
func InstallScript(folder string) (model string, err error) {
	folder, err = filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", folder, err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of the review's script: %w", err)
	}
	file := filepath.Join(folder, "review-script.yaml")
	if err := os.WriteFile(file, script, 0o600); err != nil {
		return "", fmt.Errorf("write the review's script: %w", err)
	}
	return "script:" + file, nil
}

// Options returns a session of the team on dir. It may read there, run commands
// that only read, and write the report, and nothing else. Which model is used
// is left to the caller.
func Options(dir string) (swarm.Options, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return swarm.Options{}, fmt.Errorf("find %s: %w", dir, err)
	}
	team, lead, err := definitions()
	if err != nil {
		return swarm.Options{}, err
	}
	agents, err := asFlag(team)
	if err != nil {
		return swarm.Options{}, err
	}
	return swarm.Options{
		Dir:    dir,
		Agents: agents,
		System: lead.Prompt(),
		Allow:  []string{"Write(/" + Report + ")"},
	}, nil
}

// definitions reads the embedded files: the teammates, and the lead.
func definitions() (team []defs.Definition, lead defs.Definition, err error) {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, lead, fmt.Errorf("list the review's agents: %w", err)
	}
	var errs []error
	for _, e := range entries {
		d, err := definition(path.Join(folder, e.Name()))
		switch {
		case err != nil:
			errs = append(errs, err)
		case d.Name == leader:
			lead = d
		default:
			team = append(team, d)
		}
	}
	return team, lead, errors.Join(errs...)
}

func definition(name string) (defs.Definition, error) {
	src, err := files.ReadFile(name)
	if err != nil {
		return defs.Definition{}, fmt.Errorf("read the review's agents: %w", err)
	}
	d, problems, err := defs.Parse(name, src, defs.Flag)
	for _, p := range problems {
		err = errors.Join(err, errors.New(p.String()))
	}
	return d, err
}

// flagEntry is one definition in the JSON of --agents.
type flagEntry struct {
	Description string   `json:"description"`
	Tools       []string `json:"tools,omitempty"`
	Color       string   `json:"color,omitempty"`
	Prompt      string   `json:"prompt"`
}

func asFlag(team []defs.Definition) (string, error) {
	all := make(map[string]flagEntry, len(team))
	for _, d := range team {
		all[d.Name] = flagEntry{Description: d.Description, Tools: d.Tools, Color: d.Color, Prompt: d.Body}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("encode the review's agents: %w", err)
	}
	return string(raw), nil
}
