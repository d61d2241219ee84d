package price

import "github.com/actorswarm/swarm/budget"

// List returns the published list prices, in dollars per million tokens, with
// the five-minute cache where a provider has several, as of November 2026.
// Source: the pricing pages of Anthropic and OpenAI.
func List() *Table {
	const k, m = 1_000, 1_000_000
	return &Table{list: []entry{
		claude("claude-fable-5-1", m, rates(10, 50, 0.25, 12.50)),
		claude("claude-fable-5", m, rates(10, 50, 1, 12.50)),
		claude("claude-opus-5-5", m, rates(4, 20, 0.20, 5)),
		claude("claude-opus-5", m, rates(5, 25, 0.50, 6.25)),
		claude("claude-opus-4-8", m, rates(5, 25, 0.50, 6.25)),
		claude("claude-opus-4-7", m, rates(5, 25, 0.50, 6.25)),
		claude("claude-opus-4-6", m, rates(5, 25, 0.50, 6.25)),
		claude("claude-opus-4-5", 200*k, rates(5, 25, 0.50, 6.25)),
		claude("claude-opus-4-1", 200*k, rates(15, 75, 1.50, 18.75)),
		claude("claude-opus-4-0", 200*k, rates(15, 75, 1.50, 18.75)),
		claude("claude-opus-4", 200*k, rates(15, 75, 1.50, 18.75)),
		claude("claude-sonnet-5-5", m, rates(2, 10, 0.10, 2.50)),
		claude("claude-sonnet-5", m, rates(2, 10, 0.20, 2.50)),
		claude("claude-sonnet-4-6", m, rates(3, 15, 0.30, 3.75)),
		stepped("claude-sonnet-4-5", 200*k, rates(3, 15, 0.30, 3.75), 200*k, rates(6, 22.50, 0.60, 7.50)),
		stepped("claude-sonnet-4-0", 200*k, rates(3, 15, 0.30, 3.75), 200*k, rates(6, 22.50, 0.60, 7.50)),
		stepped("claude-sonnet-4", 200*k, rates(3, 15, 0.30, 3.75), 200*k, rates(6, 22.50, 0.60, 7.50)),
		claude("claude-3-7-sonnet", 200*k, rates(3, 15, 0.30, 3.75)),
		stepped("claude-haiku-5-5", m, rates(0.10, 0.50, 0.01, 0.125), 100*k, rates(0.50, 2.50, 0.05, 0.625)),
		claude("claude-haiku-4-5", 200*k, rates(1, 5, 0.10, 1.25)),
		claude("claude-3-5-haiku", 200*k, rates(0.80, 4, 0.08, 1)),

		openai("gpt-5", 400*k, 1.25, 0.125, 10),
		openai("gpt-5-mini", 400*k, 0.25, 0.025, 2),
		openai("gpt-5-nano", 400*k, 0.05, 0.005, 0.40),
		openai("gpt-4.1", 1_047_576, 2, 0.50, 8),
		openai("gpt-4.1-mini", 1_047_576, 0.40, 0.10, 1.60),
		openai("gpt-4.1-nano", 1_047_576, 0.10, 0.025, 0.40),
		openai("gpt-4o", 128*k, 2.50, 1.25, 10),
		openai("gpt-4o-mini", 128*k, 0.15, 0.075, 0.60),
		openai("o3", 200*k, 2, 0.50, 8),
		openai("o4-mini", 200*k, 1.10, 0.275, 4.40),
	}}
}

func rates(input, output, cacheRead, cacheWrite float64) Rates {
	return Rates{Input: dollars(input), Output: dollars(output), CacheRead: dollars(cacheRead), CacheWrite: dollars(cacheWrite)}
}

// dollars converts a published price per million tokens, exact to a tenth of a cent.
func dollars(d float64) budget.USD { return budget.USD(d*10_000+0.5) * (budget.Dollar / 10_000) }

func claude(name string, window int64, r Rates) entry {
	return entry{name: name, window: window, price: &Price{Rates: r}}
}

func stepped(name string, window int64, r Rates, above int64, long Rates) entry {
	return entry{name: name, window: window, price: &Price{Rates: r, LongAbove: above, Long: long}}
}

// openai returns the price of a model whose cache costs nothing to write.
func openai(name string, window int64, input, cacheRead, output float64) entry {
	return claude(name, window, rates(input, output, cacheRead, input))
}
