/** One chart of rates over the last quarter of an hour, and its legend, which tells the values under the pointer. */
import uPlot from '/vendor/uPlot.esm.js'
import { el, setAttribute, setText } from './dom.js'
import { localTime, rate } from './format.js'

/** @import { Ring } from './ring.js' */

export const SPAN_MS = 15 * 60_000

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {number} column of the ring, from 0
 * @property {string} colour a custom property of the page
 * @property {number[]} dash empty for a solid line
 */

export class Chart {
  #container
  #ring
  #lines
  #values
  /** @type {uPlot | undefined} */
  #plot
  #nowMs = Date.now()

  /**
   * @param {HTMLElement} container
   * @param {HTMLElement} legend
   * @param {Ring} ring
   * @param {readonly Line[]} lines
   */
  constructor(container, legend, ring, lines) {
    this.#container = container
    this.#ring = ring
    this.#lines = lines
    this.#values = lines.map((line) => addToLegend(legend, line))
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(container)
    // What a canvas was painted with doesn't follow the page's colours.
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#rebuild())
    this.#rebuild()
  }

  /** @param {number} nowMs by the sidecar's clock */
  draw(nowMs) {
    this.#nowMs = nowMs
    this.#plot?.setData(this.#data())
    this.#tell(undefined)
    const summary = this.#lines.map(({ name, column }, i) => {
      const now = this.#values[i]?.textContent
      return `${name}: ${now} a second now, ${rate(this.#ring.highest(column))} at most.`
    })
    setAttribute(this.#container, 'aria-label', `Last 15 minutes. ${summary.join(' ')}`)
  }

  /** @returns {uPlot.AlignedData} */
  #data() {
    const [times = [], ...columns] = this.#ring.series()
    const drawn = this.#lines.map(({ column }) => columns[column] ?? [])
    return /** @type {uPlot.AlignedData} */ ([times, ...drawn])
  }

  #size() {
    const { width, height } = this.#container.getBoundingClientRect()
    return { width: Math.max(100, Math.floor(width) - 10), height: Math.max(60, Math.floor(height)) }
  }

  #rebuild() {
    this.#plot?.destroy()
    this.#plot = new uPlot(this.#options(), this.#data(), this.#container)
  }

  /** @returns {uPlot.Options} */
  #options() {
    const style = getComputedStyle(document.documentElement)
    /** @param {string} name */
    const colour = (name) => style.getPropertyValue(name).trim()
    const font = `12px ${colour('--sans')}`
    const axis = { stroke: colour('--muted'), font, ticks: { show: false } }
    return {
      ...this.#size(),
      pxAlign: 1,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false }, sync: { key: 'rates' } },
      scales: {
        x: { time: true, range: () => [(this.#nowMs - SPAN_MS) / 1000, this.#nowMs / 1000] },
        y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] },
      },
      axes: [
        { ...axis, size: 24, space: 70, grid: { show: false }, values: (_plot, times) => times.map(minute) },
        { ...axis, size: 46, space: 28, grid: { stroke: colour('--line'), width: 1 } },
      ],
      series: [
        {},
        ...this.#lines.map(({ name, colour: own, dash }) => ({
          label: name,
          stroke: colour(own),
          width: 2,
          dash,
          points: { show: false },
        })),
      ],
      hooks: { setCursor: [({ cursor }) => this.#tell(cursor.idx)] },
    }
  }

  /** @param {number | null | undefined} index the newest if there is none */
  #tell(index) {
    const columns = this.#data()
    this.#lines.forEach((_line, i) => {
      const value = columns[i + 1]?.[index ?? this.#ring.length - 1]
      const element = this.#values[i]
      if (element) setText(element, rate(value))
    })
  }
}

/** @param {number} seconds */
const minute = (seconds) => localTime(seconds * 1000, seconds * 1000).slice(0, 5)

const SVG = 'http://www.w3.org/2000/svg'

/**
 * @param {HTMLElement} legend
 * @param {Line} line
 * @returns {HTMLElement} what shows its value
 */
function addToLegend(legend, { name, colour, dash }) {
  const value = el('b', {}, '–')
  const key = document.createElementNS(SVG, 'svg')
  key.setAttribute('aria-hidden', 'true')
  const stroke = document.createElementNS(SVG, 'line')
  const drawn = { x1: '0', x2: '100%', y1: '50%', y2: '50%', stroke: `var(${colour})`, 'stroke-width': '2' }
  for (const [attribute, text] of Object.entries(drawn)) stroke.setAttribute(attribute, text)
  if (dash.length > 0) stroke.setAttribute('stroke-dasharray', dash.join(' '))
  key.append(stroke)
  legend.append(el('span', {}, key, name, ' ', value))
  return value
}
