package ask

import "github.com/actorswarm/swarm/event"

// Names that stand in package event.
type (
	Answer            = event.Answer
	State             = event.QuestionState
	Settlement        = event.Settlement
	UnknownError      = event.UnknownQuestionError
	SettledError      = event.SettledQuestionError
	NotPermittedError = event.AnswerNotPermittedError
)

// Ends of a question.
const (
	Answered  = event.QuestionAnswered
	Expired   = event.QuestionExpired
	Withdrawn = event.QuestionWithdrawn
	Covered   = event.QuestionCovered
)
