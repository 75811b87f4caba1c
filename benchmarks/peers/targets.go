package main

import (
	"fmt"
	"io"
	"strings"
)

// target is a relation of a row of ours to another row of the same scenario.
type target struct {
	scenario string
	our      string
	against  string
	figure   figure
	least    float64 // the ratio has to be this or more; 0: no such limit
	most     float64 // the ratio has to be this or less; 0: no such limit
}

// figure is what is compared.
type figure struct {
	name string
	of   func(*row) float64
}

var (
	throughput = figure{"messages/s", func(r *row) float64 { return r.perSecond }}
	cpuTime    = figure{"CPU per message", func(r *row) float64 { return r.cpu }}
	callCount  = figure{"SQS calls per message", func(r *row) float64 { return r.calls.perMessage() }}
)

// targets are what the poller has to reach against its peers.
func targets() []target {
	var ts []target
	for _, s := range []string{noLatency, withLatency, emulated} {
		ts = append(ts,
			target{scenario: s, our: ours, against: loopWorkers, figure: throughput, least: 0.9},
			target{scenario: s, our: ours, against: loopWorkers, figure: cpuTime, most: 1.5},
		)
		switch s {
		case noLatency:
			ts = append(ts, target{scenario: s, our: ours, against: goCloud, figure: throughput, least: 4})
		case withLatency:
			// What waits for a call is bounded by what may be in hand: Go Cloud
			// has no bound, so the like of it is the row with room to grow.
			ts = append(ts,
				target{scenario: s, our: oursDeep, against: goCloud, figure: throughput, least: 1},
				target{scenario: s, our: ours, against: goCloud, figure: throughput, least: 1})
		default:
			ts = append(ts, target{scenario: s, our: ours, against: goCloud, figure: throughput, least: 1})
		}
		for _, peer := range []string{loopWorkers, loopBarrier, loopSingle, goCloud} {
			ts = append(ts, target{scenario: s, our: ours, against: peer, figure: callCount, most: 1})
		}
	}
	return append(ts, target{
		scenario: headOfLine, our: ours, against: loopBarrier, figure: throughput, least: 3,
	})
}

// ratio is our figure over the peer's; false if either row is missing or the
// peer's figure is zero.
func (t *target) ratio(tables []table) (float64, bool) {
	for i := range tables {
		if tables[i].scenario.name != t.scenario {
			continue
		}
		our, found := tables[i].row(t.our)
		peer, also := tables[i].row(t.against)
		if !found || !also || t.figure.of(&peer) == 0 {
			return 0, false
		}
		return t.figure.of(&our) / t.figure.of(&peer), true
	}
	return 0, false
}

// met judges the ratio as it is printed, by two decimals.
func (t *target) met(ratio float64) bool {
	const half = 0.005
	return (t.least == 0 || ratio+half >= t.least) && (t.most == 0 || ratio-half < t.most)
}

func (t *target) limit() string {
	if t.least > 0 {
		return fmt.Sprintf("≥ %.2f", t.least)
	}
	return fmt.Sprintf("≤ %.2f", t.most)
}

// writeTargets writes every target with what was measured, as Markdown. A target
// whose scenario or peer did not run is said to be not measured.
func writeTargets(w io.Writer, tables []table) error {
	var b strings.Builder
	b.WriteString("\n### Targets\n\n")
	b.WriteString("Medians of the same run. Calls are those that messages cause: without the ones made " +
		"once at the start, which the tables have under other.\n\n")
	b.WriteString("| server | figure | of | against | target | measured | |\n")
	b.WriteString("| --- | --- | --- | --- | --: | --: | --- |\n")
	for _, t := range targets() {
		measured, verdict := "–", "not measured"
		if ratio, ok := t.ratio(tables); ok {
			measured = fmt.Sprintf("%.2f", ratio)
			verdict = "NOT met"
			if t.met(ratio) {
				verdict = "met"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n",
			t.scenario, t.figure.name, t.our, t.against, t.limit(), measured, verdict)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
