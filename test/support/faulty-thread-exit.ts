/** Loaded with `--import`: every thread but the first ends before it has said a word. */
import { isMainThread } from 'node:worker_threads'

if (!isMainThread) process.exit(3)
