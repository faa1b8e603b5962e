// Package store keeps the last known state of the scooters in memory.
package store

import (
	"container/list"
	"sync"
	"time"
)

// Clock is replaced in tests.
type Clock interface {
	Now() time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

type entry struct {
	key     string
	value   any
	expires time.Time
}

// Stats counts what the cache has done.
type Stats struct {
	Hits, Misses, Evictions uint64
}

// Cache is an LRU cache whose entries expire.
type Cache struct {
	mu    sync.Mutex
	size  int
	ttl   time.Duration
	clock Clock
	order *list.List
	items map[string]*list.Element
	stats Stats
}

// NewCache makes a cache for size entries.
func NewCache(size int, ttl time.Duration) *Cache {
	return &Cache{
		size:  size,
		ttl:   ttl,
		clock: systemClock{},
		order: list.New(),
		items: make(map[string]*list.Element, size),
	}
}

// Get returns a value which has not expired.
func (c *Cache) Get(key string) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.items[key]
	if !ok {
		c.stats.Misses++
		return nil, false
	}
	e := element.Value.(*entry)
	if c.clock.Now().After(e.expires) {
		c.remove(element)
		c.stats.Misses++
		return nil, false
	}
	c.order.MoveToFront(element)
	c.stats.Hits++
	return e.value, true
}

// Put stores a value and restarts its time to live.
func (c *Cache) Put(key string, value any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	expires := c.clock.Now().Add(c.ttl)
	if element, ok := c.items[key]; ok {
		e := element.Value.(*entry)
		e.value, e.expires = value, expires
		c.order.MoveToFront(element)
		return
	}
	if c.order.Len() >= c.size {
		c.evictOldest()
	}
	c.items[key] = c.order.PushFront(&entry{key: key, value: value, expires: expires})
}

func (c *Cache) evictOldest() {
	element := c.order.Back()
	if element == nil {
		return
	}
	c.remove(element)
	c.stats.Evictions++
}

func (c *Cache) remove(element *list.Element) {
	c.order.Remove(element)
	delete(c.items, element.Value.(*entry).key)
}

// Purge drops everything but the statistics.
func (c *Cache) Purge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order.Init()
	clear(c.items)
}

// Snapshot returns a copy of the statistics.
func (c *Cache) Snapshot() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}
