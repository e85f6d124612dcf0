/** By which right it asks: the fields of its claim. */
import { pick } from '../torture/random.ts'
import { field } from './draft.ts'
import { add } from './honest.ts'
import { drop, type Mutations, named, words } from './mutation.ts'

const tokens = (token: string): string[] => [
  ...words('7 1 0 -8 +9 09 9.0 9e0 0x9 9; "9" 9007199254740993 9223372036854775807 9223372036854775808'),
  ...words(`18446744073709551617 ${'9'.repeat(40)} ${token}. ${token}n ${token}_0 ${token},9`),
  ...['', ' ', '9 ', '\t9', '9\x0b', '9\0', '\x0b9', '\xb2', '\xd9\xa9', '9\xa0', '\xa09'],
  ...[`${token},${token}`, `${token}, ${token}`],
]

export const claimMutations: Mutations = {
  'claim twice'(draft, random) {
    const [one] = named(draft, pick(random, ['Fencing-Token', 'Fencing-Task', 'Fencing-Holder']))
    const { name, value } = one ?? field('Fencing-Token', '9')
    const twins = [
      name,
      name.toLowerCase(),
      name.toUpperCase(),
      name.replace('-', '_'),
      name.replace('-', ''),
    ]
    add(draft, random, field(pick(random, twins), pick(random, [value, value, '9', '7', '', 'other'])))
  },
  'claim spelt oddly'(draft, random) {
    const [one] = named(draft, pick(random, ['Fencing-Token', 'Fencing-Token', 'Fencing-Task']))
    if (!one) return
    one.value = pick(random, tokens(one.value))
    if (random() < 0.2) one.name = one.name.replace('-', pick(random, ['_', '--', '', ' ', '.']))
  },
  'claim missing'(draft, random) {
    drop(draft, pick(random, ['fencing-token', 'fencing-task']))
  },
}
