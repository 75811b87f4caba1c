package consumer

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestInTurn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, second, stop time.Duration // from now; stopped never if 0
		want                []time.Duration
	}{
		"both later":            {time.Second, 2 * time.Second, 0, []time.Duration{time.Second, 2 * time.Second}},
		"both at the same time": {time.Second, time.Second, 0, []time.Duration{time.Second, time.Second}},
		"one has passed":        {0, time.Second, 0, []time.Duration{0, time.Second}},
		"both have passed":      {-time.Second, 0, 0, []time.Duration{0, 0}},
		"stopped before":        {2 * time.Second, 3 * time.Second, time.Second, nil},
		"stopped in between":    {time.Second, 3 * time.Second, 2 * time.Second, []time.Duration{time.Second}},
		"stopped before second": {-time.Second, 2 * time.Second, time.Second, []time.Duration{0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				called := make(chan time.Duration, 2)
				call := func() { called <- time.Since(start) }
				stop := inTurn(start.Add(tt.first), call, start.Add(tt.second), call)
				if tt.stop > 0 {
					time.Sleep(tt.stop)
					stop()
				}
				time.Sleep(5 * time.Second)
				synctest.Wait()
				close(called)
				var got []time.Duration
				for d := range called {
					got = append(got, d)
				}
				if len(got) != len(tt.want) || len(got) > 0 && got[0] != tt.want[0] || len(got) > 1 && got[1] != tt.want[1] {
					t.Errorf("called after %v, want %v", got, tt.want)
				}
			})
		})
	}
}
