package gateway

import (
	"math"
	"sync"
	"time"
)

const (
	defaultRate  = 5.0
	defaultBurst = 20
	idleAfter    = 10 * time.Minute
)

type limitMode int

const (
	modeOff limitMode = iota
	modeObserve
	modeEnforce
)

type bucket struct {
	tokens float64
	seen   time.Time
}

// TokenBucket limits the requests of each client.
type TokenBucket struct {
	mu      sync.Mutex
	mode    limitMode
	rate    float64
	burst   float64
	buckets map[string]*bucket
	now     func() time.Time
}

func NewTokenBucket(mode limitMode) *TokenBucket {
	return &TokenBucket{
		mode:    mode,
		rate:    defaultRate,
		burst:   defaultBurst,
		buckets: make(map[string]*bucket),
		now:     time.Now,
	}
}

// Allow takes one token of the client, if there is one.
func (t *TokenBucket) Allow(key string) bool {
	if t.mode == modeOff {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.refill(key)
	if b.tokens < 1 {
		return t.mode == modeObserve
	}
	b.tokens--
	return true
}

func (t *TokenBucket) refill(key string) *bucket {
	now := t.now()
	b, ok := t.buckets[key]
	if !ok {
		b = &bucket{tokens: t.burst, seen: now}
		t.buckets[key] = b
		return b
	}
	b.tokens = math.Min(t.burst, b.tokens+now.Sub(b.seen).Seconds()*t.rate)
	b.seen = now
	return b
}

// Sweep forgets the clients which have been idle for long.
func (t *TokenBucket) Sweep() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	removed := 0
	for key, b := range t.buckets {
		if t.now().Sub(b.seen) > idleAfter {
			delete(t.buckets, key)
			removed++
		}
	}
	return removed
}
