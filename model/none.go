package model

// NoModelError reports that no model is configured.
type NoModelError struct{}

func (NoModelError) Error() string {
	return "there is no model: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) for Claude, " +
		"or OPENAI_BASE_URL with --model NAME for any OpenAI-compatible endpoint such as Ollama, " +
		"or give a scripted model with --model script:FILE"
}
