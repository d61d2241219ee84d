package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What a line asks for.
type (
	say    struct{ text string }
	write  struct{ to, text string }
	settle struct {
		question Question
		answer   Answer
	}
	command struct{ name, arg string }
	mistake struct{ text string } // what to write instead
)

// action is one of the types above; nil is a line that asks for nothing.
type action any

// The commands that the package knows itself.
var helps = [...]struct{ name, arg, help string }{
	{"compact", " [NAME]", "shorten what an agent, or else the lead, has in mind"},
	{"detach", "", "leave; the session goes on without a terminal"},
	{"help", "", "show this"},
	{"interrupt", " NAME", "end an agent's turn, and nothing else"},
	{"model", " [NAME]", "show the lead's model, or choose another"},
	{"quit", "", "leave; "},
	{"stop", " NAME", "end what an agent does; a message wakes it again"},
}

// parse says what a line asks for. q is the question that it may answer.
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
			return mistake{fmt.Sprintf("write the text after the name: %s TEXT", first)}
		}
		return write{first[1:], rest}
	case q != nil:
		if a, ok := answerOf(text, *q); ok {
			return settle{*q, a}
		}
	}
	return say{text}
}

// isCommand tells /ps from a path.
func isCommand(word string) bool {
	return len(word) > 1 && word[0] == '/' && !strings.ContainsAny(word[1:], "/.")
}

func parseCommand(name, arg string, views []View) action {
	names := commandNames(views)
	switch {
	case !slices.Contains(names, name):
		return mistake{fmt.Sprintf("there is no command /%s; there are /%s", name, strings.Join(names, ", /"))}
	case (name == "stop" || name == "interrupt") && arg == "":
		return mistake{fmt.Sprintf("name the agent: /%s NAME", name)}
	}
	return command{name, strings.TrimPrefix(arg, "@")}
}

func commandNames(views []View) []string {
	var names []string
	for _, h := range helps {
		names = append(names, h.name)
	}
	for _, v := range views {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	return names
}

// answerOf reads an answer. Only a bare yes is consent; a no may say why. What
// is not about consent is answered by anything.
func answerOf(text string, q Question) (Answer, bool) {
	if !q.Consent {
		return Answer{Allow: true, Picked: picked(text, q.Choices), Text: text}, true
	}
	word, note, _ := strings.Cut(text, " ")
	switch strings.ToLower(strings.TrimRight(word, ",.:")) {
	case "y", "yes":
		return Answer{Allow: true}, note == ""
	case "a", "always":
		return Answer{Allow: true, Always: true}, note == "" && q.Always != ""
	case "n", "no":
		return Answer{Note: strings.TrimSpace(note)}, true
	}
	return Answer{}, false
}

// picked turns numbers such as 2 or 1,3 into what they stand for.
func picked(text string, choices []string) []string {
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

// complete fills in the name or command that a line begins with. offers are
// what it may become if there are several.
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
