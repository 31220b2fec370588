import { z } from 'zod';

/** The values of `reasoning.effort`, from the least to the most. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export const effortName = z.enum(EFFORTS);
/** `reasoning.effort` of research: the other values are mapped to the nearest supported one. */
export const effort = effortName.transform((value): 'low' | 'medium' | 'high' => {
  if (value === 'none' || value === 'minimal') return 'low';
  return value === 'xhigh' || value === 'max' ? 'high' : value;
});
