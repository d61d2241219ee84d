package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/actorswarm/swarm/internal/spelling"
)

// The actions that a line can request.
type (
	sendLead       struct{ text string }
	sendAgent      struct{ to, text string }
	answerQuestion struct {
		question Question
		answer   Answer
	}
	command     struct{ name, arg string }
	syntaxError struct{ text string } // what to write instead
)

// action is one of the types above, or nil for a line that requests nothing.
type action any

// builtinCommands are the commands of this package.
var builtinCommands = [...]struct{ name, arg, help string }{
	{"compact", " [NAME]", "compact the conversation of an agent, or of the lead"},
	{"detach", "", "leave; the session continues without a terminal"},
	{"help", "", "show this"},
	{"interrupt", " NAME", "end an agent's turn only"},
	{"model", " [NAME]", "show the lead's model, or choose another"},
	{"quit", "", "leave; "},
	{"stop", " NAME", "stop an agent; a message wakes it again"},
}

// parse returns the action that a line requests. q is the question that it may answer.
func parse(line string, q *Question, views []View) action {
	text := strings.TrimSpace(line)
	first, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case text == "":
		return nil
	case isCommand(first):
		return parseCommand(first[1:], rest, views)
	case len(first) > 1 && first[0] == '@':
		if rest == "" {
			return syntaxError{fmt.Sprintf("write the text after the name: %s TEXT", first)}
		}
		return sendAgent{first[1:], rest}
	case q != nil:
		a, ok := parseAnswer(text, *q)
		if !ok {
			return syntaxError{noAnswer(*q)}
		}
		return answerQuestion{*q, a}
	}
	return sendLead{text}
}

// isCommand distinguishes /ps from a path.
func isCommand(word string) bool {
	return len(word) > 1 && word[0] == '/' && !strings.ContainsAny(word[1:], "/.")
}

func parseCommand(name, arg string, views []View) action {
	names := commandNames(views)
	switch {
	case !slices.Contains(names, name):
		return syntaxError{fmt.Sprintf("there is no command /%s; there are /%s%s", name, strings.Join(names, ", /"), spelling.DidYouMean(name, "/", names))}
	case (name == "stop" || name == "interrupt") && arg == "":
		return syntaxError{fmt.Sprintf("name the agent: /%s NAME", name)}
	}
	return command{name, strings.TrimPrefix(arg, "@")}
}

func commandNames(views []View) []string {
	var names []string
	for _, h := range builtinCommands {
		names = append(names, h.name)
	}
	for _, v := range views {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	return names
}

// parseAnswer parses an answer to q. Only "y" or "yes" alone is consent; a no may be
// followed by a reason. Any text answers a question that is not about consent.
func parseAnswer(text string, q Question) (Answer, bool) {
	if !q.Consent {
		return Answer{Allow: true, Picked: parseChoices(text, q.Choices), Text: text}, true
	}
	word, note, _ := strings.Cut(text, " ")
	switch strings.ToLower(strings.TrimRight(word, ",.:")) {
	case "y", "yes":
		return Answer{Allow: true}, note == ""
	case "a", "always":
		scope, known := alwaysScope(note)
		return Answer{Allow: true, Always: true, Scope: scope}, known && q.Always != ""
	case "n", "no":
		return Answer{Note: strings.TrimSpace(note)}, true
	}
	return Answer{}, false
}

// noAnswer returns what to write instead of a text that does not answer a question.
func noAnswer(q Question) string {
	always := ""
	if q.Always != "" {
		always = ", a (always; a local, a project or a user saves it)"
	}
	return fmt.Sprintf("%s still asks, and that is no answer: y (yes), n or n TEXT (no, and why)%s; to write to the lead instead: @lead TEXT", q.Agent, always)
}

// alwaysScope returns where an answer for always is saved, by the word after it.
func alwaysScope(word string) (scope string, known bool) {
	switch word = strings.ToLower(strings.TrimSpace(word)); word {
	case "", "session":
		return "", true
	case "local", "project", "user":
		return word, true
	}
	return "", false
}

// parseChoices returns the choices for numbers such as "2" or "1,3".
func parseChoices(text string, choices []string) []string {
	var chosen []string
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > len(choices) {
			return nil
		}
		chosen = append(chosen, choices[n-1])
	}
	return chosen
}

// complete completes the name or command at the beginning of a line. offers are the
// candidates if there are several.
func complete(line string, agents, commands []string) (done string, offers []string) {
	from, known := 0, agents
	switch {
	case strings.HasPrefix(line, "/stop "), strings.HasPrefix(line, "/compact "), strings.HasPrefix(line, "/interrupt "):
		from = strings.IndexByte(line, ' ') + 1
	case strings.HasPrefix(line, "/"):
		from, known = 1, commands
	case strings.HasPrefix(line, "@"):
		from = 1
	default:
		return line, nil
	}
	typed := strings.TrimPrefix(line[from:], "@")
	from = len(line) - len(typed)
	if strings.ContainsAny(typed, " \n") {
		return line, nil
	}
	for _, name := range known {
		if strings.HasPrefix(strings.ToLower(name), strings.ToLower(typed)) {
			offers = append(offers, name)
		}
	}
	switch len(offers) {
	case 0:
		return line, nil
	case 1:
		return line[:from] + offers[0] + " ", nil
	}
	return line[:from] + commonPrefix(offers), offers
}

func commonPrefix(names []string) string {
	prefix := names[0]
	for _, name := range names[1:] {
		n := 0
		for n < min(len(prefix), len(name)) && prefix[n] == name[n] {
			n++
		}
		prefix = prefix[:n]
	}
	return prefix
}
