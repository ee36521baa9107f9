/*
 * The protocol of the ledger, small enough to be checked in every order.
 *
 * CLIENTS clients put (with and without upload, deduplicated), overwrite and
 * delete; RECLAIMERS reclaimers reap and clean. Any of them may stop anywhere
 * (a crash) or for as long as it likes (a zombie): claims expire at any time.
 * PUTs and DELETEs are done, not done, unknown, or land late. README.md says
 * how to read this file, and what is left out.
 *
 * A transaction is one atomic block; so is an effect on the backend; nothing
 * is both. All bodies have the same digest, so that everything can be
 * deduplicated. A content is one blob, and its row is the blob's row. A
 * content in the ledger has a name as well, and no bytes on the backend; it
 * moves out to a new blob, and a blob's content moves in under a new name.
 */

#if defined(MOVE_UNGUARDED) || defined(MOVE_BEFORE_BYTES)
#define MOVES
#define RECLAIMERS 1
#endif

#ifndef BLOBS
#define BLOBS 2
#endif
#ifndef KEYS
#define KEYS 2
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef RECLAIMERS
#define RECLAIMERS 2
#endif

#define NONE 7 /* no blob, no claim */
#define COPY KEYS

/* States of a blob's row. UNUSED: the name was not yet given out. */
#define UNUSED    0
#define PENDING   1
#define LIVE      2
#define CONDEMNED 3
#define DEAD      4
#define GONE      5
#define INLINE    6 /* its bytes lie in the ledger */

/* The ledger. */
byte st[BLOBS];     /* state */
byte refs[BLOBS];   /* references, as counted by the transactions */
byte claim[BLOBS];  /* who claimed the row last; stands for the fence */
byte ikey[BLOBS];   /* the key that an intent is for; COPY: for a content */
byte obj[KEYS];     /* the blob of each object row */
byte cnt[7];        /* counters: blobs by state; GONE counts what was freed */
byte next = 0;      /* the next name; names are never used twice */
byte stale = 0;     /* set of intents whose key was written or removed since */

/* The backend, and what may still come to it. */
byte bytes = 0;      /* set of names that hold bytes */
byte dels = 0;       /* set of names whose deletes may land, again and again */
byte upload[BLOBS];  /* whether PUTs of the name may land */
#define CLOSED  0
#define LATE    1    /* the writer has left; what it sent may be under way */
#define SENDING 2    /* the writer may send, more than once */

byte finished = 0;  /* clients that are through; one more: drained */
#define drained (finished > CLIENTS)
#ifdef NOT_DURABLE
byte lostb = NONE, lostk = 0; /* the last transaction, if a crash can lose it */
#endif

hidden byte i, j, n;

#define in(set, b)     (((set) >> (b)) & 1)
#define add(set, b)    set = set | (1 << (b))
#define remove(set, b) set = set & ~(1 << (b))

#ifdef NAME_REUSE
#define name(b) 0 /* named after the content: the digest is always the same */
#else
#define name(b) (b)
#endif

/* A content that may be referred to. */
#define stored(b) (st[b] == LIVE || st[b] == INLINE)

/* What must hold after every step. */

/* S1: what an object refers to has its bytes. */
#define S1_bytes_of_references (obj[j] == NONE || st[obj[j]] == INLINE || in(bytes, name(obj[j])))
/* S2: references and counters equal a recount; what is freed is counted once. */
#define S2_references_exact    (refs[i] == n)
#define S2_live_is_referenced  ((refs[i] > 0) == stored(i))
#define S2_counters_exact      (cnt[i] == n)
/* S3: a delete is issued for what was condemned only. */
#define S3_condemned_first     (st[b] == CONDEMNED || st[b] == DEAD || st[b] == GONE)
/* S4: what is promoted replaces nothing that came after it. */
#define S4_promotes_the_newest (!in(stale, b))
/* L1: once faults have stopped, bytes lie where a live row says so, only there. */
#define L1_nothing_is_left     (in(bytes, i) == (st[i] == LIVE))

inline check() {
	d_step {
		j = 0;
		do
		:: j < KEYS -> assert(S1_bytes_of_references); j++
		:: else -> break
		od;
		i = 0;
		do
		:: i < BLOBS ->
			n = 0; j = 0;
			do
			:: j < KEYS -> n = n + (obj[j] == i); j++
			:: else -> break
			od;
			assert(S2_references_exact);
#ifndef NO_TOMBSTONE
			assert(S2_live_is_referenced);
#endif
			i++
		:: else -> break
		od;
		i = PENDING;
		do
		:: i <= INLINE ->
			n = 0; j = 0;
			do
			:: j < BLOBS -> n = n + (st[j] == i); j++
			:: else -> break
			od;
			assert(S2_counters_exact);
			i++
		:: else -> break
		od;
		i = 0; j = 0; n = 0
	}
}

/* Parts of transactions. */

/* The row moves to another state, and the counters with it. */
inline move(blob, to) {
	cnt[st[blob]]--;
	cnt[to]++;
	st[blob] = to
}

/* The intent is one no more. */
inline decided(blob) {
	ikey[blob] = 0;
	remove(stale, blob)
}

/* The intent's content is known under another blob. */
inline surplus(blob) {
#ifdef LEAVE_DUPLICATES
	skip /* left to the reaper: the key is written, so nobody promotes it */
#else
	move(blob, CONDEMNED); decided(blob)
#endif
}

/* The key is written or removed: no older intent for it may be promoted. */
inline touch(k) {
	i = 0;
	do
	:: i < BLOBS ->
		if
		:: st[i] == PENDING && ikey[i] == k -> add(stale, i)
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0
}

/* A reference is gone; with the last one the blob is condemned, and what lies
 * in the ledger is gone. */
inline dereference(blob) {
	refs[blob]--;
	if
	:: refs[blob] == 0 && st[blob] == INLINE -> move(blob, GONE)
	:: else
	fi;
#ifndef NO_TOMBSTONE
	if
	:: refs[blob] == 0 && st[blob] == LIVE -> move(blob, CONDEMNED)
	:: else
	fi
#endif
}

inline settled() {
#ifdef NOT_DURABLE
	lostb = NONE
#else
	skip
#endif
}

/* The object row of the key goes, if there is one; counted by what it named. */
inline unlink(k) {
	d_step {
		settled();
		if
		:: obj[k] != NONE -> j = obj[k]; obj[k] = NONE; dereference(j); j = 0
		:: else
		fi;
		touch(k)
	}
}

/* The key refers to the blob; what it referred to before loses a reference.
 * The new reference comes first: the old blob may be the same one. */
inline link(k, blob) {
	d_step {
		settled();
		refs[blob]++;
		if
		:: obj[k] != NONE -> j = obj[k]; obj[k] = blob; dereference(j); j = 0
		:: else -> obj[k] = blob
		fi;
		touch(k)
	}
}

/* All references go from one content to another one of the same bytes. */
inline replace(old, new) {
	d_step {
		settled();
		refs[new] = refs[old]; refs[old] = 0; i = 0;
		do
		:: i < KEYS ->
			if
			:: obj[i] == old -> obj[i] = new
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

/* Whether the content is there. */
#if BLOBS > 2
#define known (stored(0) || stored(1) || stored(2))
#else
#define known (stored(0) || stored(1))
#endif

/* Forget the operation, whether it came to its end or crashed, and go on. */
#define leave_client() b = NONE; c = NONE; k = 0; goto again

proctype Client() {
	byte k = 0;    /* key */
	byte b = NONE; /* own blob */
	byte c = NONE; /* content that was found to be there already */

again:
	atomic {
		if
		:: k = 0
		:: k = KEYS - 1
		:: finished++; goto end_client
		fi;
		if
		/* Delete. */
#ifdef BLIND_DECREMENT
		:: c = obj[k]; goto blind
#else
		::
#ifdef NOT_DURABLE
			c = obj[k];
#endif
			unlink(k);
#ifdef NOT_DURABLE
			if
			:: c != NONE && st[c] == CONDEMNED -> lostb = c; lostk = k
			:: else
			fi;
#endif
			check(); leave_client()
#endif
		/* Put a small body: look for a content with this digest. Nothing is
		 * locked, what was found may be condemned and deleted before use. */
		:: stored(0) -> c = 0; goto reference
		:: stored(1) -> c = 1; goto reference
#if BLOBS > 2
		:: stored(2) -> c = 2; goto reference
#endif
#ifdef MOVES
		/* Put into the ledger: one transaction. */
		:: next < BLOBS && !known ->
			b = next; next++; st[b] = INLINE; cnt[INLINE]++; link(k, b);
			check(); leave_client()
#endif
		/* Put with an upload: the intent comes first. */
		:: next < BLOBS -> b = next; next++; upload[b] = SENDING;
#ifndef BYTES_BEFORE_ROW
			settled(); st[b] = PENDING; cnt[PENDING]++; ikey[b] = k; k = 0;
#endif
			check()
		fi
	}

	/* One or more PUTs. One that got no answer, and one that was not waited
	 * for, are done, not done, or land late: see Late. */
	atomic {
		if
		:: add(bytes, name(b)); upload[b] = CLOSED       /* done at once */
		:: add(bytes, name(b)); upload[b] = LATE         /* done after an unknown one */
		:: !in(bytes, name(b)) -> upload[b] = CLOSED; goto failed /* certainly not done */
		:: upload[b] = LATE; goto failed                 /* unknown */
		:: upload[b] = LATE; leave_client()              /* crash */
		fi
	}

	/* Commit. */
	atomic {
		if
		:: leave_client() /* crash */
		:: skip
		fi;
#ifdef BYTES_BEFORE_ROW
		st[b] = PENDING; cnt[PENDING]++; ikey[b] = k;
#endif
		k = ikey[b];
		if
#ifdef UNGUARDED_COMMIT
		:: st[b] != GONE ->
#else
		:: st[b] == PENDING ->
#endif
			if /* known after all: refer to the old one, the new one is surplus */
			:: stored(0) && b != 0 -> surplus(b); link(k, 0)
			:: stored(1) && b != 1 -> surplus(b); link(k, 1)
#if BLOBS > 2
			:: stored(2) && b != 2 -> surplus(b); link(k, 2)
#endif
			:: move(b, LIVE); link(k, b); decided(b)
			fi
		:: else /* it was reaped: fail */
		fi;
#ifdef COMPENSATE
		/* The answer got lost; take it for a failure and remove the upload. */
		if
		:: remove(bytes, name(b))
		:: skip
		fi;
#endif
		check(); leave_client()
	}

failed:
	/* Condemned by its writer, if nobody reaped it before. */
	atomic {
		if
		:: st[b] == PENDING -> settled(); move(b, CONDEMNED); decided(b)
		:: else
		fi;
		check(); leave_client()
	}

reference:
	/* Refer to the content, without an upload. */
	atomic {
		if
#ifdef UNCHECKED_REFERENCE
		:: link(k, c)
#else
		:: stored(c) -> link(k, c) /* its row is locked until the end */
		:: else /* upload instead: another turn */
#endif
		fi;
		check(); leave_client()
	}

#ifdef BLIND_DECREMENT
blind:
	/* Deletes the row, if it is still there, and counts what was read before. */
	atomic {
		settled(); obj[k] = NONE;
		if
		:: c != NONE && refs[c] > 0 -> dereference(c)
		:: else
		fi;
		d_step { touch(k) };
		check(); leave_client()
	}
#endif

end_client:
	skip
}

/* The one assumption about time: the late window is longer than a PUT can be
 * late, and than a writer can sleep between its intent and its PUT. The window
 * matters for blobs with an unknown upload; the others are CLOSED anyway. */
#ifdef UNTIMED
#define window_over(b) true
#else
#define window_over(b) (upload[b] == CLOSED)
#endif

#ifdef NO_TOMBSTONE
#define unwanted(b) (st[b] == CONDEMNED || (st[b] == LIVE && refs[b] == 0))
#else
#define unwanted(b) (st[b] == CONDEMNED)
#endif

/* Forget the pass, whether it came to its end or crashed, and go on. */
#ifdef MOVES
#define leave_reclaimer() final = 0; b = 0; x = NONE; goto again
#else
#define leave_reclaimer() final = 0; b = 0; goto again
#endif

proctype Reclaimer(byte me) {
	byte b = 0;
	/* The bytes are gone for good: deleted, with an answer, and late uploads
	 * were over when the delete was issued. */
	bit final = 0;
#ifdef MOVES
	byte x = NONE; /* the content in the ledger that is moved */
#endif

again:
	atomic {
		if
		:: st[0] != UNUSED -> b = 0
		:: st[1] != UNUSED -> b = 1
#if BLOBS > 2
		:: st[2] != UNUSED -> b = 2
#endif
		:: drained -> goto end_reclaimer
		fi;
		if
		/* Reap. There was no heartbeat for long; the writer may be alive all
		 * the same. What is not proven is condemned. */
		:: st[b] == PENDING ->
			settled(); move(b, CONDEMNED); decided(b); check(); leave_reclaimer()
#ifdef PROMOTE_UNPROVEN
		:: st[b] == PENDING -> goto promote
#else
		:: st[b] == PENDING && in(bytes, name(b)) && ikey[b] != COPY -> goto promote
#endif
#ifdef MOVES
		/* Move a content into the ledger, or out of it to a new blob. What is
		 * read here may be gone when it is written. */
		:: st[b] == LIVE && next < BLOBS -> goto move_in
		:: st[b] == INLINE && next < BLOBS ->
			x = b; b = next; next++; upload[b] = SENDING;
			settled(); st[b] = PENDING; cnt[PENDING]++; ikey[b] = COPY;
#ifdef MOVE_BEFORE_BYTES
			move(b, LIVE); replace(x, b); decided(b); move(x, GONE);
#endif
			check(); goto move_out
#endif
		/* Clean. Another's claim is no obstacle: it may have expired. */
		:: unwanted(b) -> claim[b] = me
		/* An operator requeues a dead letter. */
		:: st[b] == DEAD -> move(b, CONDEMNED); check(); leave_reclaimer()
		:: else -> leave_reclaimer()
		fi
	}

	/* One delete on the backend. From now on it may land again at any time. */
	atomic {
#ifndef NO_TOMBSTONE
		assert(S3_condemned_first);
#endif
		add(dels, name(b));
		if
		:: remove(bytes, name(b)); final = window_over(b) /* done */
		:: skip                   /* not done, unknown, or late */
		:: leave_reclaimer()      /* crash */
		fi;
#if defined(NO_SECOND_DELETE) || defined(WINDOW_AT_SETTLE)
		final = !in(bytes, name(b));
#endif
#ifdef TRUST_UNKNOWN
		final = window_over(b);
#endif
		check()
	}

	/* Settle. */
	atomic {
#ifdef WINDOW_AT_SETTLE
		final = final && window_over(b);
#endif
		if
#ifdef NO_FENCE
		:: final -> settled(); cnt[CONDEMNED]--; cnt[GONE]++; st[b] = GONE
#else
		:: unwanted(b) && claim[b] == me && final ->
			settled(); move(b, GONE); claim[b] = NONE
#endif
		:: unwanted(b) && claim[b] == me && !final ->
			claim[b] = NONE;
			if
			:: skip /* once more: later, or after the late window */
			:: st[b] == CONDEMNED -> move(b, DEAD) /* attempts used up */
			fi
		:: else /* taken over: change nothing */
		fi;
		check(); leave_reclaimer()
	}

promote:
	/* The bytes were read and proven. */
	atomic {
		if
#ifdef PROMOTE_STALE
		:: st[b] == PENDING ->
#else
		:: st[b] == PENDING && !in(stale, b) ->
#endif
			assert(S4_promotes_the_newest);
			move(b, LIVE); link(ikey[b], b); decided(b)
		:: else
		fi;
		check(); leave_reclaimer()
	}

#ifdef MOVES
move_in:
	/* Its bytes were read and proven. */
	atomic {
		if
#ifdef MOVE_UNGUARDED
		:: next < BLOBS ->
#else
		:: st[b] == LIVE && next < BLOBS ->
#endif
			x = next; next++; st[x] = INLINE; cnt[INLINE]++;
			replace(b, x); move(b, CONDEMNED)
		:: else /* deleted or moved meanwhile */
		fi;
		check(); leave_reclaimer()
	}

move_out:
	/* One or more PUTs, as by a client. */
	atomic {
		if
		:: add(bytes, name(b)); upload[b] = CLOSED
		:: add(bytes, name(b)); upload[b] = LATE
		:: upload[b] = LATE; leave_reclaimer() /* unknown, or a crash */
		fi
	}
	atomic {
		if
		:: leave_reclaimer() /* crash */
		:: st[b] == PENDING && st[x] == INLINE ->
			replace(x, b); move(b, LIVE); decided(b); move(x, GONE)
		:: st[b] == PENDING && st[x] != INLINE -> /* deleted, or moved by another */
			settled(); move(b, CONDEMNED); decided(b)
		:: else /* it was reaped */
		fi;
		check(); leave_reclaimer()
	}
#endif

end_reclaimer:
	skip
}

/* What lands late, lands here, in any order, any number of times. */
#define land_put(x)    atomic { x < BLOBS && upload[x % BLOBS] != CLOSED && !in(bytes, name(x)) -> add(bytes, name(x)); check() }
#define land_del(x)    atomic { in(dels, x) && in(bytes, x) -> remove(bytes, x); check() }
#define pass_window(x) atomic { x < BLOBS && upload[x % BLOBS] == LATE -> upload[x] = CLOSED }

proctype Late() {
	do
	:: drained -> break
	:: land_put(0)
	:: land_put(1)
	:: land_put(2)
	:: land_del(0)
	:: land_del(1)
	:: land_del(2)
	:: pass_window(0)
	:: pass_window(1)
	:: pass_window(2)
#ifdef NOT_DURABLE
	/* The database comes back without its last transaction. */
	:: atomic { lostb != NONE ->
		if
		:: st[lostb] == CONDEMNED && obj[lostk] == NONE ->
			move(lostb, LIVE); refs[lostb] = 1; obj[lostk] = lostb; claim[lostb] = NONE
		:: else
		fi;
		lostb = NONE; check() }
#endif
	od
}

/* Faults have stopped: late uploads land, every routine runs once more, and
 * nothing that is dead may be left. Deletes may land later still, and zombies
 * go on: what is checked after every step holds then, too. */
inline drain() {
	d_step {
		i = 0;
		do
		:: i < BLOBS ->
			if
			:: upload[i] != CLOSED -> add(bytes, name(i)); upload[i] = CLOSED
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < BLOBS ->
			if
			:: st[i] == PENDING || st[i] == DEAD -> move(i, CONDEMNED)
			:: else
			fi;
#ifdef UNTIMED
			/* Reconcile: a key of ours without a row is condemned. */
			if
			:: st[i] == GONE && in(bytes, i) -> remove(bytes, i)
			:: else
			fi;
#endif
#ifdef NO_TOMBSTONE
			if
			:: st[i] == LIVE && refs[i] == 0 -> move(i, CONDEMNED)
			:: else
			fi;
#endif
			if
			:: st[i] == CONDEMNED -> remove(bytes, name(i)); move(i, GONE); claim[i] = NONE
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

init {
	atomic {
		i = 0;
		do
		:: i < BLOBS -> claim[i] = NONE; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < KEYS -> obj[i] = NONE; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < CLIENTS -> run Client(); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < RECLAIMERS -> run Reclaimer(i); i++
		:: else -> break
		od;
		i = 0;
		run Late()
	}
	atomic {
		finished == CLIENTS ->
		drain(); check(); finished++;
		d_step {
			i = 0;
			do
			:: i < BLOBS -> assert(L1_nothing_is_left); i++
			:: else -> break
			od;
			i = 0
		}
	}
}
